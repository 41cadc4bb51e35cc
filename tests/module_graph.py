"""The imports among files: of the Python package, and of a Rust crate as far as `use` and paths tell."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

Graph = dict[str, set[str]]
"""File → the files of the same package or crate that it needs."""


_IMPORT = re.compile(r"^[ \t]*((?:import [\w.]|from [\w.]+ import (?:\([^)]*\))?).*)", re.M)


@cache
def imports_of(text: str) -> Sequence[ast.Import | ast.ImportFrom]:
    """The imports of a source file, wherever they are. Only these lines are parsed: whole files take three seconds.

    Text that reads like an import counts as one, too.
    """
    found: list[ast.Import | ast.ImportFrom] = []
    for match in _IMPORT.finditer(text):
        try:
            nodes = ast.parse(match[1]).body
        except SyntaxError:  # a sentence
            continue
        for node in nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                ast.increment_lineno(node, text.count("\n", 0, match.start(1)))
                found.append(node)
    return found


def python_graph(package: Path) -> Graph:
    """The modules of a package by their dotted names. What is imported inside a function counts as well."""
    files = {_dotted(path.relative_to(package.parent)): path for path in sorted(package.rglob("*.py"))}
    graph: Graph = {}
    for name, path in files.items():
        found = {target for node in imports_of(path.read_text()) for target in _python_imports(node, files)}
        graph[name] = found - {name}
    return graph


def rust_graph(source: Path) -> Graph:
    """The modules of a crate by their paths (`crate::guard::packets`). A module does not depend on its children by
    declaring them (`mod`), only by naming what is in them (`packets::Packets`). Tests inside a file do not count."""
    files = {_rust_path(path.relative_to(source)): path for path in sorted(source.rglob("*.rs"))}
    graph: Graph = {}
    for name, path in files.items():
        code = re.split(r"#\[cfg\(test\)\]\s+(?:pub )?mod tests \{", re.sub(r"//.*", "", path.read_text()))[0]
        children = [other.rpartition("::")[2] for other in files if other.rpartition("::")[0] == name]
        bare = (f"self::{child}" for child in children if re.search(rf"(?<![\w:.]){child}::", code))
        named = {_module_of(used, name, files) for used in (*_rust_uses(code), *bare)}
        graph[name] = {target for target in named if target is not None and target != name}
    return graph


def cycle_in(graph: Graph) -> list[str]:
    """The files of a cycle, in its order; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [str(name) for name in error.args[1]]
    return []


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _python_imports(node: ast.AST, files: Mapping[str, Path]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in files)
    elif isinstance(node, ast.ImportFrom) and node.module is not None and node.module in files:
        inner = (f"{node.module}.{alias.name}" for alias in node.names)
        yield from (name if name in files else node.module for name in inner)


def _rust_path(path: Path) -> str:
    parts = path.with_suffix("").parts
    return "::".join(("crate", *(parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts)))


def _rust_uses(code: str) -> Iterator[str]:
    for statement in re.findall(r"\buse\s+((?:crate|super|self)::[^;]+);", code):
        yield from _unfolded("", re.sub(r"\s+", " ", statement))
    yield from re.findall(r"\b(?:crate|super)(?:::\w+)+", code)


def _unfolded(prefix: str, tree: str) -> Iterator[str]:
    """`a::{b, c::{d, e}}` as `a::b`, `a::c::d`, `a::c::e`."""
    head, brace, rest = tree.strip().partition("{")
    if not brace:
        yield (prefix + head).partition(" as ")[0].replace(" ", "")
        return
    depth, part = 0, ""
    for letter in rest.rpartition("}")[0] + ",":
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            if part.strip():
                yield from _unfolded(prefix + head, part)
            part = ""
        else:
            part += letter


def _module_of(used: str, user: str, files: Mapping[str, Path]) -> str | None:
    """The module that contains a name: the longest prefix of its path that is a file."""
    parts, here = used.split("::"), user.split("::")
    while parts[0] in ("super", "self"):
        here = here[:-1] if parts[0] == "super" else here
        parts = parts[1:]
        if not parts:
            return "::".join(here)
    path = parts if parts[0] == "crate" else here + parts
    return next((name for n in range(len(path), 0, -1) if (name := "::".join(path[:n])) in files), None)
