"""The part of the host that a scenario's programs may read, for all engines. The agent enforces that they read nothing
else (SECURITY.md).

A scenario cannot grant itself access: it can only state which paths it needs outside its own directory and the system's
(`[run] read`); the user who runs it allows them (`--read`).
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import netwarp
from netwarp.engines.programs import named_files, named_paths
from netwarp.engines.tools import find_tools
from netwarp.scenario.model import Scenario
from netwarp.scenario.source import Keys
from netwarp.values.private import is_private

SYSTEM = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store")))
"""Directories of programs and their libraries."""
ETC = (
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld.so.preload", "alternatives"),
    *("nsswitch.conf", "host.conf", "hosts", "gai.conf", "resolv.conf", "networks", "services", "protocols", "rpc"),
    *("ethertypes", "iproute2", "passwd", "group", "localtime", "timezone", "locale.alias", "locale.conf"),
    *(
        "os-release",
        "debian_version",
        "ssl/certs",
        "ssl/openssl.cnf",
        "ca-certificates",
        "crypto-policies",
        "pki/tls/certs",
    ),
    *("profile", "bash.bashrc", "inputrc", "terminfo", "mime.types", "magic", "fonts", "perl", "python3*"),
)
"""Files in /etc that programs look up, without keys and passwords, which only root may read."""


MAX_BYTES = 4 << 30
"""The maximum size of a file that a scenario names: all of it is hashed for the ids of its runs."""


def readable(agent: Path, folder: Path, granted: Iterable[Path]) -> list[Path]:
    """Return the paths that a machine may read, with everything under them: those of SYSTEM and ETC that exist,
    netwarp with its tools, the scenario's `folder` unless it is private, and the paths that were `granted`."""
    package = Path(netwarp.__file__).parent
    own = [path for path in (Path(sys.prefix), Path(sys.base_prefix), package, folder) if not is_private(path)]
    paths = [*SYSTEM, *_etc(), agent, find_tools(), *own]
    return list(dict.fromkeys([*filter(Path.exists, paths), *granted]))


def readable_there(granted: Iterable[Path]) -> list[str]:
    """Return the paths that a scenario may read on another machine, where it has no directory; `NAME*` is a pattern."""
    return list(map(str, (*SYSTEM, *(Path("/etc", name) for name in ETC), *granted)))


def withheld(scenario: Scenario, agent: Path, granted: Sequence[Path]) -> Iterator[tuple[Keys, str]]:
    """Find files that a scenario names and that its machine may not read or that do not exist: place and sentence."""
    everything = Path("/")
    paths = [everything] if everything in granted else readable(agent, scenario.source.folder, granted)
    yield from _missing(granted)
    yield from _withheld(scenario, [path.resolve() for path in paths])


def withheld_there(scenario: Scenario, granted: Sequence[Path]) -> Iterator[tuple[Keys, str]]:
    """Find files that a scenario names and its programs may not read on other machines: place and sentence. Whether
    they exist there is not checked."""
    allowed = list(map(Path, readable_there(granted)))
    for keys, path in (*_declared(scenario), *named_paths(scenario)):
        if not any(path.is_relative_to(place) for place in allowed):
            yield keys, _advice(path, f"{path} on its machines")


def _missing(granted: Sequence[Path]) -> Iterator[tuple[Keys, str]]:
    for path in granted:
        if not path.exists():
            yield (), f"--read {path}: there is no such file or directory"


def _withheld(scenario: Scenario, paths: Sequence[Path]) -> Iterator[tuple[Keys, str]]:
    for keys, path in (*_declared(scenario), *named_files(scenario)):
        # Check the link's place as well as its target: a program may use files beside the link (a virtual environment).
        names = (path.parent.resolve() / path.name, path.resolve())
        if not path.exists():
            yield keys, f"{path}: there is no such file or directory"
        elif path.is_file() and path.stat().st_size > MAX_BYTES:
            yield keys, f"{path} is larger than {MAX_BYTES >> 30} GiB, which takes too long to hash"
        elif not all(any(name.is_relative_to(path) for path in paths) for name in names):
            yield keys, _advice(path, str(path))


def _advice(path: Path, what: str) -> str:
    return (
        f"the scenario's programs may not read {what} (SECURITY.md); if you trust them with it, add `--read {path}`, "
        "or a directory above it"
    )


def _declared(scenario: Scenario) -> Iterator[tuple[Keys, Path]]:
    values = [scenario.run.read]
    values += [tuple(value) for value in scenario.sweep.get("run.read", ()) if isinstance(value, list | tuple)]
    for value in values:
        yield from ((("run", "read"), Path(path)) for path in value)


def _etc() -> Iterator[Path]:
    for name in ETC:
        yield from sorted(Path("/etc").glob(name))
