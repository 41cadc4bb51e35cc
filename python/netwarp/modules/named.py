"""Kernel modules of users: their sources as a scenario names them, and the names that they register."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationInfo, WithJsonSchema, model_serializer

from netwarp.common.words import did_you_mean
from netwarp.modules import c_source
from netwarp.modules.c_source import CONGESTION_CONTROL, QDISC, Registered, registered
from netwarp.modules.program import (
    PROGRAM,
    NamedProgram,
    Program,
    check_parameters,
    is_program,
    load_program,
    module_sources,
    named_files,
)
from netwarp.values.fields import Model
from netwarp.values.files import Places, folder_in, read_file
from netwarp.values.json_values import JsonObject, as_list, as_table, varied

KEPT = "modules"
"""The folder of a result with the sources of the modules that its scenario names."""
FILE = "file:"
"""The prefix of a congestion control that is given as a file."""
MAX_BYTES = 4 * 2**20
MAX_FILES = 500

_BUILT = (".o", ".ko", ".a", ".mod", ".mod.c", ".cmd", ".symvers", ".order", ".d")
_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
_NAME = re.compile(r"[A-Za-z0-9_-]{1,50}", re.ASCII)
_DESCRIPTION = re.compile(r'\bMODULE_DESCRIPTION\("([^"]+)"\)')
_PARAMETER = re.compile(r"(\w{1,64})=([\w.,:+/-]{1,500})", re.ASCII)


class Module(Model):
    """A module: its `name` in the kernel, its `place` in the scenario, its sources by their paths, and its parameters.

    The sources of a directory include its Kbuild; for a single file netwarp writes one. With a `program`, the module is
    netwarp's own, through which the kernel asks that program.
    """

    name: str
    place: str
    files: dict[str, str]
    parameters: dict[str, str]
    program: Program | None = None

    @property
    def congestion_controls(self) -> tuple[str, ...]:
        """The names of the congestion controls that it registers."""
        return self._registered.congestion_controls

    @property
    def qdiscs(self) -> tuple[str, ...]:
        """The names of the queue disciplines that it registers."""
        return self._registered.qdiscs

    @cached_property
    def _registered(self) -> Registered:
        sources = list(self.files.values())
        found = Registered(registered(sources, CONGESTION_CONTROL), registered(sources, QDISC))
        return found if any(found) or c_source.read_binary is None else c_source.read_binary(self)

    @property
    def digest(self) -> str:
        """SHA-256 (hex) over the sources."""
        return hashlib.sha256(json.dumps([self.name, sorted(self.files.items())]).encode()).hexdigest()

    @model_serializer
    def _identity(self) -> dict[str, Any]:
        """The part that decides a result: the content of the files, not their place."""
        known = {"sha256": self.digest, "parameters": self.parameters}
        program = self.program
        return {**known, "program": [program.arguments, program.files]} if program else known


class Control(str):
    """The name of a congestion control; `module` is the module that has it, None if the kernel has it."""

    __slots__ = ("module",)
    module: Module | None

    def __new__(cls, name: str, module: Module | None = None) -> Control:
        """Make a name with its module."""
        made = super().__new__(cls, name)
        made.module = module
        return made

    @property
    def program(self) -> Program | None:
        """The program that decides it; None if that is code of the kernel."""
        return self.module.program if self.module else None

    def __reduce__(self) -> tuple[type[Control], tuple[str, Module | None]]:
        """Pickle the name with its module."""
        return Control, (str(self), self.module)


def module_of(cc: object) -> Module | None:
    """The module of a flow's congestion control; None if the kernel has it, or if the flow has none."""
    return cc.module if isinstance(cc, Control) else None


def control_identity(cc: str) -> str | dict[str, Any]:
    """The part of a congestion control that decides a result: its name, and its module."""
    module = module_of(cc)
    return {"name": str(cc), "module": module.model_dump(mode="json")} if module else str(cc)


def load_control(value: str, folder: Path, *, is_given: bool = False) -> Control:
    """Load `file:./tcp_mine.c window=50`, the module and its only congestion control, or `program:./mine.py per_ack=1`.

    A program that the user gave (`is_given`) may be in any place. Raises ValueError.
    """
    if is_program(value):
        return _program_control(value, folder, is_given)
    place, *words = value.removeprefix(FILE).split()
    module = load_module(place, _parameters(words), folder)
    names = module.congestion_controls
    if len(names) != 1:
        there = f"these: {', '.join(names)}" if names else "none"
        raise ValueError(
            f"{place} must register one congestion control, and netwarp finds {there}. "
            + (
                "Name the module in `modules`, and the control by its name"
                if names
                else 'It is a `struct tcp_congestion_ops x = { … .name = "mine" … };` with '
                "`tcp_register_congestion_control(&x)`"
            )
        )
    return Control(names[0], module)


def _program_control(value: str, folder: Path, is_given: bool) -> Control:
    """Load `program:./mine.py per_ack=1 --gain 2`: parameters of netwarp's module, and arguments of the program."""
    named, parameters = _program_files(value, folder, is_given)
    check_parameters(given := _parameters(parameters))
    program = load_program(named)
    name, files = module_sources(program)
    module = Module(name=name, place=named.place, files=files, parameters=given, program=program)
    return Control(module.congestion_controls[0], module)


def _program_files(value: str, folder: Path, is_given: bool) -> tuple[NamedProgram, list[str]]:
    """The program that a congestion control names, and the words that are parameters of netwarp's module."""
    place = place_of(value)
    words = value.split()[1:]
    parameters = [word for word in words if _PARAMETER.fullmatch(word)]
    arguments = tuple(word for word in words if word not in parameters)
    kept = folder / KEPT / kept_name(place)
    return NamedProgram(place, arguments, named_files(place, arguments, folder, kept, is_given)), parameters


def load_module(place: str, parameters: Mapping[str, str], folder: Path) -> Module:
    """Load the module in a file or a directory of that name in `folder`. Raises ValueError with a sentence."""
    path = _find(place, folder)
    try:
        if path.suffix == ".ko":
            raise ValueError(_compiled(path, place))
        files = dict(_tree(path) if path.is_dir() else _with_headers(path))
        if not path.is_dir() and path.suffix != ".c":
            raise ValueError(f"{place} is neither a C file (`.c`) nor a directory with a Kbuild")
    except OSError as error:
        raise ValueError(f"the module {place} cannot be read: {error.strerror}{_nearest(place, path)}") from None
    except UnicodeDecodeError:
        raise ValueError(f"the module {place} has a file that is not text in UTF-8; give only sources") from None
    if path.is_dir() and not {"Kbuild", "Makefile"} & files.keys():
        raise ValueError(f'{place} has no Kbuild, which names its objects (a line such as "obj-m := tcp_mine.o")')
    name = path.resolve().name if path.is_dir() else path.stem
    if not _NAME.fullmatch(name):
        raise ValueError(f'"{name}" cannot be the name of a module; use letters, digits, "_" and "-"')
    return Module(name=name, place=place, files=files, parameters=dict(parameters))


def shipped_modules() -> dict[str, Path]:
    """The modules that come with netwarp: name → file."""
    folder = Path(str(resources.files("netwarp") / "gallery"))
    return {path.name: path for path in sorted(folder.glob("*.c"))}


def is_shipped(module: Module) -> bool:
    """Whether it is one of netwarp's own, with these sources."""
    path = shipped_modules().get(Path(module.place).name)
    return path is not None and load_module(path.name, {}, path.parent).digest == module.digest


_REPLACED = {
    **dict.fromkeys(("bbr2", "bbrv2"), "BBRv2 was replaced by BBRv3 in 2023 (docs/bbr.md)"),
    **dict.fromkeys(("pcc", "vivace"), 'PCC Vivace is a program: cc = "program:vivace.py" (docs/learning.md)'),
    "allegro": 'PCC Allegro is not shipped; its successor is: cc = "program:vivace.py" (docs/learning.md)',
}
"""Congestion controls that never were in Linux, and where they are instead."""


def in_gallery(kind: str, name: str) -> str:
    """The gallery's module that registers a congestion control or a queue of this name, as the end of an error.

    Otherwise one whose name begins with the same word, as `bbr3` and `bbrv2` do; empty if there is none.
    """
    for fits in (lambda own: own == name, lambda own: _first_word(own) == _first_word(name)):
        for file, path in shipped_modules().items():
            module = load_module(file, {}, path.parent)
            names = module.congestion_controls if kind == "congestion control" else module.qdiscs
            if own := next(filter(fits, names), None):
                about = _DESCRIPTION.search(module.files[file])
                what = f'"{own}"' + (f" ({about[1]})" if about else "")
                alone = kind == "congestion control" and len(names) == 1
                way = f'cc = "{FILE}{file}"' if alone else f'modules = ["{file}"]'
                return f"{_replaced(name)}; netwarp's gallery has {what}: {way}" + (
                    "" if alone or own == name else f' and the name "{own}"'
                )
    return _replaced(name)


def _replaced(name: str) -> str:
    return f"; {_REPLACED[name]}" if name in _REPLACED else ""


def _first_word(name: str) -> str:
    return re.split(r"[^a-z]|v\d", name.lower())[0]


def kept_name(place: str) -> str:
    """The directory under which a result keeps the sources of a module."""
    return f"{Path(place).stem or 'module'}-{hashlib.sha256(place.encode()).hexdigest()[:8]}"


def module_files(data: JsonObject, where: Places) -> dict[str, bytes]:
    """The sources and programs that a scenario's data names, also in sweeps and cases, without modules that are
    shipped: the path under which a result keeps each → its content. Raises ValueError."""
    folder_of = where.folder_of
    places = {place for place in _places(data) if _find(place, folder_of(place)) not in shipped_modules().values()}
    modules = [load_module(place, {}, folder_of(place)) for place in sorted(places)]
    found = {f"{kept_name(one.place)}/{path}": text.encode() for one in modules for path, text in one.files.items()}
    for value in _controls(data):
        if is_program(value):
            named, _ = _program_files(value, folder_of(place_of(value)), value in where.given)
            found |= {f"{kept_name(named.place)}/{name}": content for name, content in named.kept().items()}
    return found


def names_modules(data: JsonObject) -> bool:
    """Whether a scenario's data names a module, at any point."""
    return any(True for _ in _places(data)) or names_programs(data)


def names_programs(data: JsonObject) -> bool:
    """Whether a scenario's data names a program as a congestion control, at any point."""
    return any(is_program(value) for value in _controls(data))


def _controls(data: JsonObject) -> Iterator[str]:
    values = [as_table(flow).get("cc") for flow in as_table(data.get("flows")).values()]
    values += [value for path, value in varied(data) if path.endswith(".cc")]
    yield from (value for value in values if isinstance(value, str))


def _places(data: JsonObject) -> Iterator[str]:
    yield from (place_of(value) for value in _controls(data) if is_file(value))
    for module in as_list(data.get("modules")):
        yield str(module["file"] if isinstance(module, Mapping) else module)


def is_file(cc: str) -> bool:
    """Whether a congestion control is given as a module's file."""
    return cc.startswith(FILE) and bool(cc.removeprefix(FILE).strip())


def place_of(cc: str) -> str:
    """The file that `file:./tcp_mine.c window=50` or `program:./policy.py per_ack=1` names."""
    return cc.removeprefix(FILE).removeprefix(PROGRAM).split()[0]


def is_loaded(cc: str) -> bool:
    """Whether a congestion control is given as a file of some kind, which `load_control` loads."""
    return is_file(cc) or is_program(cc)


def _find(place: str, folder: Path) -> Path:
    """The file of this name in `folder`; else the copy that a result keeps; else the shipped one."""
    path = folder / place
    kept = folder / KEPT / kept_name(place)
    if not path.exists() and kept.is_dir():
        return kept / Path(place).name if Path(place).suffix == ".c" else kept
    return path if path.exists() or place not in shipped_modules() else shipped_modules()[place]


def _nearest(place: str, path: Path) -> str:
    try:
        beside = [file.name for file in path.parent.iterdir() if file.suffix == ".c"]
    except OSError:
        beside = []
    return did_you_mean(Path(place).name, [*beside, *shipped_modules()])


def _compiled(path: Path, place: str) -> str:
    found = re.search(rb"vermagic=([^ \0]+)", read_file(path, MAX_BYTES))
    made = f" for the kernel {found[1].decode(errors='replace')}" if found else ""
    return (
        f"{place} is a compiled module{made}, which other kernels refuse; give its source, and netwarp compiles it for "
        "the kernel of the runs"
    )


def _text(path: Path) -> str:
    content = read_file(path, MAX_BYTES)
    if len(content) > MAX_BYTES:
        raise ValueError(f"{path.name} is larger than {MAX_BYTES // 2**20} MiB, the maximum for a module's source")
    return content.decode()


def _with_headers(path: Path) -> Iterator[tuple[str, str]]:
    """A C file, and the included files beside it."""
    todo, folder = [path], path.parent
    seen: set[Path] = set()
    while todo:
        file = todo.pop()
        if file in seen or len(seen) > MAX_FILES:
            continue
        seen.add(file)
        text = _text(file)
        yield file.relative_to(folder).as_posix(), text
        beside = (file.parent / name for name in _INCLUDE.findall(text) if ".." not in Path(name).parts)
        todo += [header for header in beside if header.is_relative_to(folder) and header.is_file()]


def _tree(folder: Path) -> Iterator[tuple[str, str]]:
    """The sources in a directory: all files except hidden ones and a compiler's output."""
    found = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not path.name.endswith(_BUILT)
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
    if len(found) > MAX_FILES:
        raise ValueError(f"{folder} has {len(found):,} files; the directory of a module has {MAX_FILES} at most")
    yield from ((path.relative_to(folder).as_posix(), _text(path)) for path in found)


def _parameters(words: Iterable[str]) -> dict[str, str]:
    found = {}
    for word in words:
        match = _PARAMETER.fullmatch(word)
        if match is None:
            raise ValueError(f'"{word[:80]}" is not a parameter of a module, such as window=50')
        found[match[1]] = match[2]
    return found


def _module(value: object, info: ValidationInfo) -> Any:
    """Read `"./sch_mine.c"`, or with parameters `{ file = "./sch_mine.c", parameters = { limit = 100 } }`."""
    if isinstance(value, Module):
        return value
    given = {"file": value} if isinstance(value, str) else value
    if not isinstance(given, dict) or not isinstance(given.get("file"), str) or given.keys() - {"file", "parameters"}:
        raise ValueError('a module is a path, or a table such as { file = "./sch_mine.c", parameters = { limit = 9 } }')
    parameters = given.get("parameters", {})
    if not isinstance(parameters, dict):
        raise ValueError("`parameters` is a table such as { limit = 9 }")
    words = [f"{name}={int(v) if isinstance(v, bool) else v}" for name, v in parameters.items()]
    return load_module(given["file"], _parameters(words), folder_in(info.context, given["file"]))


ModuleField = Annotated[
    Module,
    BeforeValidator(_module),
    WithJsonSchema(
        {
            "title": "module",
            "anyOf": [
                {"type": "string", "examples": ["./sch_mine.c", "./tcp_mine/"]},
                {
                    "type": "object",
                    "properties": {
                        "file": {"type": "string"},
                        "parameters": {
                            "type": "object",
                            "additionalProperties": {"type": ["string", "integer", "boolean"]},
                        },
                    },
                    "required": ["file"],
                    "additionalProperties": False,
                },
            ],
        }
    ),
]
