"""The text below an assignment in a module or a class, which Python does not keep."""

import ast
import inspect
from itertools import pairwise
from types import ModuleType


def meanings(of: ModuleType | type) -> dict[str, str]:
    """The text below each assignment of a module or of a class in it, by the names that it is about."""
    body = ast.parse(inspect.getsource(of)).body
    if isinstance(body[0], ast.ClassDef):
        body = body[0].body
    return {
        name.id: str(text.value.value)
        for assigned, text in pairwise(body)
        if isinstance(assigned, ast.Assign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
        for target in assigned.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }
