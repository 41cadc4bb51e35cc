"""The record of a study: scenarios, views, imports, exports, commands, and short words for its figures.

A package offers a `Study` as an entry point of the group `netwarp.studies`. Netwarp's studies are entry points of the
package netwarp, and the core names none of them. A study's statements are judged by a view, which writes its findings
(`netwarp.store.findings`).

Functions are named by a reference, `package.module:function`, and imported when they are used: the record loads
nothing, so that `netwarp --help` stays quick.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


class StudyError(ValueError):
    """A study cannot be loaded, or two offer the same name; the message is a sentence that says which, and a remedy."""


@dataclass(frozen=True)
class Export:
    """A format in which `netwarp export` writes results.

    `function` is a reference to a `netwarp.exports.Exporter`; `meaning` describes the output in the command's help.
    """

    function: str
    meaning: str


@dataclass(frozen=True)
class Study:
    """A study with everything that it offers.

    `scenarios`: a folder whose files NAME.toml are scenarios called NAME. `views`: name in a scenario's `views` → a
    reference to a `netwarp.steps.views.View`. `needs`: name of a view → a reference to a `netwarp.steps.needs.Needs`,
    which refuses plans that the view cannot show. `imports`: references to `netwarp.steps.imports.Importer`s.
    `rows`: references to functions that return a `netwarp.verify.row.Family` for `netwarp verify`.
    `exports`: by the name of their option, `--NAME`. `commands`: name → a reference to a function whose parameters
    and docstring are the command's (cyclopts); its module is imported for `netwarp --help`, so it should load
    little. `short_words`: regular expression → its replacement in names of cases that are longer than 12
    characters, in this order. They apply to figures of all results, so they should match only this study's words.

    A name of netwarp itself stays netwarp's. If two studies have the same name, using it is an error (`StudyError`).
    """

    scenarios: Path | None = None
    views: Mapping[str, str] = field(default_factory=dict)
    needs: Mapping[str, str] = field(default_factory=dict)
    imports: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    exports: Mapping[str, Export] = field(default_factory=dict)
    commands: Mapping[str, str] = field(default_factory=dict)
    short_words: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check references and expressions. Raises ValueError for an invalid one."""
        for reference in self.references:
            if not _REFERENCE.fullmatch(reference):
                raise ValueError(f'"{reference}" is not a reference, package.module:function')
        for pattern in self.short_words:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f'"{pattern}" is not a regular expression: {error}') from None

    @property
    def references(self) -> Iterator[str]:
        """All references of the study."""
        yield from self.views.values()
        yield from self.needs.values()
        yield from self.imports
        yield from self.rows
        yield from (one.function for one in self.exports.values())
        yield from self.commands.values()
