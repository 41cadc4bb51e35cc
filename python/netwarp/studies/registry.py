"""The installed studies, including netwarp's, and the parts that they offer by name.

They are looked up once in a process, when a name is not found in the core: reading the metadata of all installed
packages takes some ten milliseconds.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from netwarp.studies.base import Export, Study, StudyError

GROUP = "netwarp.studies"

Kind = Literal["views", "exports", "commands", "scenarios"]
_ONE = {"views": "view", "exports": "export format", "commands": "command", "scenarios": "scenario"}


def studies() -> tuple[tuple[str, Study], ...]:
    """The studies that can be loaded, each with its name, sorted."""
    return _found()[0]


def unloadable() -> tuple[str, ...]:
    """A sentence about each study that cannot be loaded."""
    return _found()[1]


def names(kind: Kind) -> list[str]:
    """The names of everything of a kind that studies offer, sorted."""
    return sorted({name for _, study in studies() for name in _offers(study, kind)})


def scenario(name: str) -> Path | None:
    """The file of a study's scenario; None if none offers it. Raises StudyError."""
    found: Path | None = _only("scenarios", name)
    return found


def scenarios() -> dict[str, Path]:
    """All scenarios of studies, without names that several studies offer."""
    offered = [(name, file) for _, study in studies() for name, file in _scenarios(study).items()]
    count = Counter(name for name, _ in offered)
    return {name: file for name, file in offered if count[name] == 1}


def exports() -> dict[str, str]:
    """The export formats of studies, with their meanings, sorted."""
    meanings = {name: one.meaning for _, study in studies() for name, one in study.exports.items()}
    return dict(sorted(meanings.items()))


def load(kind: Literal["views", "exports", "commands"], name: str) -> Any:
    """The function that a study offers. Raises StudyError."""
    offer = _only(kind, name)
    if offer is None:
        raise StudyError("; ".join([f'there is no {_ONE[kind]} "{name}"', *unloadable()]))
    return loaded(offer.function if isinstance(offer, Export) else offer)


def needs(view: str) -> Any:
    """The function that says what a plan lacks for a view; None if its study offers none. Raises StudyError."""
    _only("views", view)
    references = (study.needs[view] for _, study in studies() if view in study.views and view in study.needs)
    reference = next(references, None)
    return None if reference is None else loaded(reference)


def importers() -> Iterator[Any]:
    """All importers of studies. Raises StudyError."""
    for _, study in studies():
        for reference in study.imports:
            yield loaded(reference)


def families() -> Iterator[Any]:
    """The families of rows that studies add to `netwarp verify`. Raises StudyError."""
    for _, study in studies():
        for reference in study.rows:
            yield loaded(reference)()


def short_words() -> Iterator[tuple[str, str]]:
    """The short words of all studies: regular expression and replacement."""
    for _, study in studies():
        yield from study.short_words.items()


@cache
def _found() -> tuple[tuple[tuple[str, Study], ...], tuple[str, ...]]:
    # Imported lazily: commands and scenarios of the core need no study, and should not wait for it.
    from importlib.metadata import entry_points  # noqa: PLC0415

    found: list[tuple[str, Study]] = []
    unloadable: list[str] = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        try:
            study = point.load()
        except Exception as error:  # the import of another package's module may raise anything
            unloadable.append(f'the study "{point.name}" cannot be loaded: {type(error).__name__}: {error}')
            continue
        if isinstance(study, Study):
            found.append((point.name, study))
        else:
            unloadable.append(f'the study "{point.name}" cannot be loaded: {point.value} is not a netwarp Study')
    return tuple(found), tuple(unloadable)


def _scenarios(study: Study) -> Mapping[str, Path]:
    return {} if study.scenarios is None else {file.stem: file for file in study.scenarios.glob("*.toml")}


def _offers(study: Study, kind: Kind) -> Mapping[str, object]:
    if kind == "scenarios":
        return _scenarios(study)
    offers: Mapping[str, object] = getattr(study, kind)
    return offers


def _only(kind: Kind, name: str) -> Any:
    """The part that a study offers under this name; None if there is none. Raises StudyError if several offer it."""
    having = {of: _offers(study, kind)[name] for of, study in studies() if name in _offers(study, kind)}
    if len(having) > 1:
        raise StudyError(
            f'several studies have a {_ONE[kind]} "{name}": {", ".join(having)}; uninstall the packages of all but one'
        )
    return next(iter(having.values()), None)


def loaded(reference: str) -> Any:
    """Load the object of a reference, `package.module:name`. Raises StudyError."""
    module, _, name = reference.partition(":")
    try:
        return getattr(import_module(module), name)
    except Exception as error:  # as above
        raise StudyError(f"{reference} cannot be loaded: {type(error).__name__}: {error}") from error
