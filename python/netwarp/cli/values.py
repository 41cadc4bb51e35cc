"""The values that options and arguments can take, for completion in a shell.

Each function gets what has been typed so far and returns candidates; the shell keeps those that begin with the word at
the cursor. They read names from files instead of loading netwarp's stages, so that an answer takes no longer than
`netwarp --help`. A file that is missing or broken gives no candidates: the command itself says what is wrong with it.
"""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from netwarp.studies import registry

if TYPE_CHECKING:
    from netwarp.values.json_values import JsonObject


class Typed(Protocol):
    """The words of one argument that have been typed."""

    @property
    def raw_tokens(self) -> tuple[str, ...]:
        """Every word, in order."""


class Context(Protocol):
    """The part of a command line that has been typed so far, as cyclopts passes it."""

    @property
    def incomplete(self) -> str:
        """The word at the cursor."""

    @property
    def argument(self) -> Any:
        """The argument that the word at the cursor belongs to."""

    def get(self, name: str) -> Typed | None:
        """Return another argument; None if the command has none of that name."""


Completer = Callable[[Context], Iterable[str | tuple[str, str]]]

_PACKAGE = Path(__file__).parents[1]
_SHIPPED = _PACKAGE / "scenarios"
_MAX_BYTES = 4 * 2**20
_STATISTICS = ("_mean", "_min", "_max", "_p50", "_p95", "_p99", "_first_peak")


def one_of(*words: str) -> Completer:
    """A completer for one of these words."""
    return lambda _: words


def several_of(*words: str) -> Completer:
    """A completer for some of these words with commas between them."""
    return lambda context: _after_comma(context.incomplete, words)


def scenarios(context: Context) -> Iterator[tuple[str, str]]:
    """Shipped scenarios with their summaries, and TOML files and directories."""
    for name, path in sorted(_shipped().items()):
        yield name, str(_scenario(path).get("summary", ""))
    yield from ((path, "") for path in _files(context.incomplete, ".toml"))


def results(context: Context) -> Iterator[str]:
    """Result directories: those under results/, and those below what is typed."""
    typed = Path(context.incomplete or ".")
    for folder in dict.fromkeys((typed, typed.parent, Path("results"))):
        yield from (str(plan.parent) for plan in sorted(_glob(folder, "*/plan.json"), reverse=True))


def kernels(_: Context) -> list[str]:
    """Names of kernels that have been built."""
    from netwarp.kernels.cache import cache_directory
    from netwarp.kernels.names import STOCK, list_names

    return [STOCK, *(named.name for named in list_names(cache_directory()))]


def engines(_: Context) -> list[str]:
    """Engines, including those of installed packages."""
    from netwarp.engines import engine_names

    return engine_names()


def cases(context: Context) -> Iterator[tuple[str, str]]:
    """The cases of the scenario on the command line."""
    for case in _list(_given_scenario(context).get("cases")):
        if isinstance(case, Mapping):
            yield str(case.get("name", "")), ", ".join(f"{path} = {value}" for path, value in _items(case.get("set")))


def nodes(context: Context) -> list[str]:
    """The nodes of the scenario on the command line."""
    return [name for name, _ in _items(_given_scenario(context).get("nodes"))]


def settings(context: Context) -> Iterator[str]:
    """`PATH=VALUE` of the scenario on the command line: the next part of the path, then values."""
    data = _given_scenario(context)
    path, equals, typed = context.incomplete.partition("=")
    if not equals:
        yield from _next_parts(path, _paths(data))
        return
    start = typed.rpartition(",")[0]
    for value in _values_of(path, data):
        yield f"{path}={start},{value}" if start else f"{path}={value}"


def controls(context: Context) -> Iterator[str]:
    """Congestion controls of the newest kernel, with commas between them."""
    return _after_comma(context.incomplete, _described("congestion_controls"))


def figures(context: Context) -> Iterator[str]:
    """Figures of the result on the command line that have been drawn, and the groups that they form."""
    stems = [path.stem for path in sorted(_glob(_given_result(context) / "plots", "*.png"))]
    yield from dict.fromkeys([*(stem.partition("--")[0] for stem in stems), *stems])


def metrics(context: Context) -> Iterator[str]:
    """Metrics of the result on the command line, and quantities (a metric without its statistic)."""
    found = dict.fromkeys(f"{row['scope']}.{row['metric']}" for row in _summary(context) if row.get("metric"))
    yield from found
    for name in found:
        for end in _STATISTICS:
            if name.endswith(end):
                yield name.removesuffix(end)


def axes(context: Context) -> Iterator[str]:
    """Axes by which a figure can be grouped, with commas between them."""
    own = [str(axis) for axis in _list(_plan(context).get("axes"))]
    return _after_comma(context.incomplete, [*own, "case", "seed", "name"])


def shown(context: Context) -> Iterator[str]:
    """Flows, and values of axes, that figures can be limited to, with commas between them."""
    flows = [row["name"] for row in _summary(context) if row.get("scope") == "flow"]
    values = [str(value) for run in _runs(context) for _, value in _items(run.get("point"))]
    return _after_comma(context.incomplete, dict.fromkeys([*flows, *values]))


def points(context: Context) -> Iterator[str]:
    """`PATH=VALUE` of an axis of the result on the command line."""
    for run in _runs(context):
        yield from (f"{path}={value}" for path, value in _items(run.get("point")))
        if "case" in run:
            yield f"case={run['case']}"


def commands(_: Context) -> list[str]:
    """The commands of netwarp."""
    from netwarp.cli.application import commands as every

    return [name for name in every() if not name.startswith("-")]


def engine_pair(context: Context) -> Iterator[str]:
    """Two engines with a comma between them."""
    return _after_comma(context.incomplete, engines(context))


def goals(_: Context) -> list[str]:
    """The goals of advice."""
    from netwarp.advise.criteria import GOALS

    return list(GOALS)


def efforts(_: Context) -> list[str]:
    """The efforts that advice may make."""
    from netwarp.advise.sizing import EFFORTS

    return list(EFFORTS)


def series(_: Context) -> list[str]:
    """The series of kernels that netwarp knows."""
    return [path.parent.name for path in sorted(_glob(_PACKAGE / "kernels" / "tree", "*/patches"))]


def _scenario(path: Path) -> JsonObject:
    """The data of a scenario file; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            return tomllib.loads(file.read(_MAX_BYTES).decode())
    except (OSError, ValueError, RecursionError):
        return {}


def _json(path: Path) -> JsonObject:
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _glob(folder: Path, pattern: str) -> list[Path]:
    try:
        return list(folder.glob(pattern))
    except OSError:
        return []


def _files(typed: str, suffix: str) -> Iterator[str]:
    """Files with this suffix, and directories (with a slash), that begin with the typed text."""
    folder, _, start = typed.rpartition("/")
    base = f"{folder}/" if typed.startswith("/") or folder else ""
    for path in sorted(_glob(Path(base or "."), "*")):
        if path.name.startswith(start) and (start.startswith(".") or not path.name.startswith(".")):
            if path.is_dir():
                yield f"{base}{path.name}/"
            elif path.suffix == suffix:
                yield f"{base}{path.name}"


def _items(table: object) -> Sequence[tuple[str, Any]]:
    return list(table.items()) if isinstance(table, Mapping) else []


def _list(values: object) -> Sequence[Any]:
    return values if isinstance(values, list) else []


def _shipped() -> dict[str, Path]:
    """The scenarios of the package and of installed studies: name → file."""
    return registry.scenarios() | {path.stem: path for path in _SHIPPED.glob("*.toml")}


def _words(context: Context, *names: str) -> list[str]:
    """The words of the first of these arguments that has been typed."""
    for name in names:
        found = context.get(name)
        if found is not None and found.raw_tokens:
            return list(found.raw_tokens)
    return []


def _given_scenario(context: Context) -> JsonObject:
    for word in _words(context, "scenario", "scenarios", "source"):
        return _scenario(Path(word) if Path(word).is_file() else _shipped().get(word, Path(word)))
    return {}


def _given_result(context: Context) -> Path:
    """The result on the command line; for an option that selects runs of B, B if it is given."""
    side = ("b", "a") if "--in-b" in context.argument.names else ("a",)
    return Path(next(iter(_words(context, *side, "directory", "run", "result")), "."))


def _plan(context: Context) -> JsonObject:
    return _json(_given_result(context) / "plan.json")


def _runs(context: Context) -> Iterator[JsonObject]:
    return (run for run in _list(_plan(context).get("runs")) if isinstance(run, Mapping))


def _summary(context: Context) -> list[dict[str, str]]:
    try:
        with (_given_result(context) / "summary.csv").open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    except (OSError, ValueError, csv.Error):
        return []


def _described(what: str) -> list[str]:
    """Names under this key in the description of the newest kernel that has been built."""
    from netwarp.kernels.cache import list_kernels
    from netwarp.kernels.description import DESCRIPTION

    for kernel in list_kernels():
        return [str(name) for name in _list(_json(kernel.directory / DESCRIPTION).get(what))]
    return []


def _after_comma(typed: str, words: Iterable[str]) -> Iterator[str]:
    """Words for the last place of a list with commas, each with the text before it."""
    start, comma, _ = typed.rpartition(",")
    given = set(start.split(","))
    return (f"{start}{comma}{word}" for word in words if word not in given)


def _paths(data: JsonObject) -> Iterator[str]:
    """Every path that can be set, with `=` at its end; without a scenario, the paths that all scenarios have."""
    from netwarp.scenario.model.paths import settable_paths

    return (f"{path}=" for path in settable_paths(data))


def _next_parts(typed: str, paths: Iterable[str]) -> Iterator[str]:
    """Candidates for the word at the cursor: paths, each up to its next dot."""
    done = typed.rfind(".") + 1
    for path in paths:
        if path.startswith(typed):
            dot = path.find(".", done)
            yield path if dot < 0 else path[: dot + 1]


def _values_of(path: str, data: JsonObject) -> Iterator[str]:
    """Values of the scenario at a path or along its axis, then those that the kernel or netwarp has for its field."""
    known: dict[str, Callable[[], Iterable[str]]] = {
        "cc": lambda: _described("congestion_controls"),
        "queue": lambda: _described("qdiscs"),
        "tuner": lambda: ["default", *(name for name, _ in _items(data.get("tuners")))],
        "trace": lambda: sorted(trace.stem for trace in _glob(_PACKAGE / "traces", "*.csv")),
    }
    value: Any = data
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    swept = data.get("sweep")
    own = [value, *_list(swept.get(path) if isinstance(swept, Mapping) else None)]
    own += [dict(_items(case.get("set"))).get(path) for case in _list(data.get("cases")) if isinstance(case, Mapping)]
    field = next((part for part in reversed(path.split(".")) if part in known), "")
    plain = [str(each).lower() if isinstance(each, bool) else str(each) for each in own if isinstance(each, str | int)]
    yield from dict.fromkeys([*plain, *(known[field]() if field else ())])
