"""The recipe of a kernel: its source, `tree/` (options, changes, files) and the compiler; and the key of a recipe."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from netwarp.common.words import did_you_mean
from netwarp.kernels.errors import CannotBuild, KernelError

TREE = Path(__file__).parent / "tree"
"""The packaged changes: `netwarp.config`, `files/` and patches for all series, and in the folder of each series its
`patches/*.patch` and, if it needs them, a `netwarp.config` and `files/` that take precedence, and `without.txt`, the
patches of all series that it is without."""

DEFAULT_SERIES = "6.12"
"""The series of the kernel that labs run on unless they name another."""

FORMAT = 3
"""Increased when building changes in a way that changes the output: 2 added a description beside the image, 3 the files
that modules are compiled against."""

_FRAGMENT = "netwarp.config"
_WITHOUT = "without.txt"
_SERIES = re.compile(r"\d+\.\d+")
_OPTION = re.compile(r"CONFIG_\w+=.+|# CONFIG_\w+ is not set")


@dataclass(frozen=True)
class Options:
    """Lines of a `.config`: netwarp's own (from the files `fragments`), and the user's, which take precedence."""

    fragments: tuple[Path, ...]
    user: tuple[str, ...] = ()

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """All lines, one for each option. Raises `KernelError`."""
        return tuple({option_name(line): line for line in (*options_of(*self.fragments), *self.user)}.values())

    def complaint(self, unmet: Sequence[str]) -> str:
        """Return the sentences about options that a configuration does not honour."""
        said = (
            "The kernel's configuration does not honour these options (they are unknown there, or an option that they "
            f"depend on is missing): {'; '.join(unmet)}. "
        )
        if not set(unmet) & set(self.user):
            return f"{said}Fix {self.fragments[-1]}."
        return (
            f"{said}Give the options that they depend on as well, each with --config; "
            "`grep -rn -A9 'config NAME' --include=Kconfig*` in the source shows it."
        )


@dataclass(frozen=True)
class UserChanges:
    """The user's additions to netwarp's changes: patches in their order, and options as lines of a `.config`."""

    patches: tuple[Path, ...] = ()
    options: tuple[str, ...] = ()

    @cached_property
    def patch_digests(self) -> tuple[str, ...]:
        """SHA-256 (hex) of each patch."""
        return tuple(hashlib.sha256(path.read_bytes()).hexdigest() for path in self.patches)


@dataclass(frozen=True)
class Recipe:
    """Everything that decides the bytes of a kernel; `patches` (digests) and `options` are the user's."""

    source_digest: str
    tree_digest: str
    compiler: str
    format: int = FORMAT
    patches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The name of the kernel in the cache: the first 16 hex digits of the SHA-256 over everything here."""
        facts = {name: value for name, value in asdict(self).items() if value != ()}
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def recipe_of(
    source_digest: str, tree: Path = TREE, series: str = DEFAULT_SERIES, user: UserChanges | None = None
) -> Recipe:
    """Return the recipe for this source, tree and the compiler on PATH; raises `CannotBuild` without a compiler."""
    user = user or UserChanges()
    return Recipe(
        source_digest,
        tree_digest(tree, series),
        compiler_version(),
        patches=user.patch_digests,
        options=user.options,
    )


def known_series(tree: Path = TREE) -> list[str]:
    """The series that netwarp has changes for, the oldest first."""
    found = [path.parent.name for path in tree.glob("*/patches") if _SERIES.fullmatch(path.parent.name)]
    return sorted(found, key=series_number)


def nearest_series(series: str, tree: Path = TREE) -> str:
    """The series whose changes are used for a source of `series`: its own, or the nearest (the newer one of two)."""
    known = known_series(tree)

    def distance(other: str) -> tuple[int, int]:
        """The approximate number of releases between two series: a major number of Linux has about twenty."""
        ordinal, its = (20 * major + minor for major, minor in map(series_number, (series, other)))
        return abs(ordinal - its), -its

    return min(known, key=distance) if known else DEFAULT_SERIES


def series_number(series: str) -> tuple[int, int]:
    """`6.12` as numbers that can be compared."""
    major, _, minor = series.partition(".")
    return int(major), int(minor)


def fragments_of(tree: Path, series: str = DEFAULT_SERIES) -> list[Path]:
    """Return the files of configuration options; a later file takes precedence."""
    return [path for path in (tree / _FRAGMENT, tree / series / _FRAGMENT) if path.is_file()]


def patches_of(tree: Path = TREE, series: str = DEFAULT_SERIES) -> list[Path]:
    """Return the changes to the source in the order of their numbers; a series' own hold over those of all."""
    found: dict[str, Path] = {}
    for folder in (tree / "upstream", tree / "common", tree / series / "upstream", tree / series / "patches"):
        found |= {path.name: path for path in folder.glob("*.patch")}
    return [found[name] for name in sorted(found.keys() - without(tree, series).keys())]


def without(tree: Path, series: str) -> dict[str, str]:
    """The names of patches that a series is without, and why: in its `without.txt`, a line `NAME: REASON` each."""
    path = tree / series / _WITHOUT
    if not path.is_file():
        return {}
    lines = (line.partition(": ") for line in path.read_text().splitlines() if not line.startswith("#"))
    return {name: reason for name, _, reason in lines}


def files_of(tree: Path, series: str = DEFAULT_SERIES) -> dict[str, Path]:
    """Return the files that are copied into the source, by their paths there; a series' own take precedence."""
    found: dict[str, Path] = {}
    for folder in (tree / "files", tree / series / "files"):
        found |= {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return dict(sorted(found.items()))


def tree_digest(tree: Path = TREE, series: str = DEFAULT_SERIES) -> str:
    """Return the SHA-256 (hex) over names and contents of the options, the changes and the files."""
    digest = hashlib.sha256()
    named = [(_FRAGMENT, path) for path in fragments_of(tree, series)]
    named += [(f"patches/{path.name}", path) for path in patches_of(tree, series)]
    named += [(f"files/{name}", path) for name, path in files_of(tree, series).items()]
    for name, path in named:
        content = path.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def compiler_version() -> str:
    """Return the versions of gcc and ld, in one line. Raises `CannotBuild` if one of them is missing."""
    return "; ".join(_first_line(program) for program in ("gcc", "ld"))


def options_of(*fragments: Path) -> list[str]:
    """Return the options of fragments as lines of a `.config`; the later one of two with the same name.

    Raises `KernelError` for a line that is not an option.
    """
    options: dict[str, str] = {}
    for fragment in fragments:
        for number, text in enumerate(fragment.read_text().splitlines(), 1):
            line = text.strip()
            if _OPTION.fullmatch(line):
                options[option_name(line)] = line
            elif line and (not line.startswith("#") or line.startswith("# CONFIG_")):
                raise KernelError(
                    f"{fragment}:{number}: `{line}` is not an option. "
                    "Write `CONFIG_NAME=value` or `# CONFIG_NAME is not set`."
                )
    return list(options.values())


def option_name(line: str) -> str:
    """The name in a line of a `.config`: `CONFIG_NAME`."""
    return line.removeprefix("# ").partition("=")[0].partition(" ")[0]


def given_options(given: Sequence[str], tree: Path = TREE, series: str = DEFAULT_SERIES) -> tuple[str, ...]:
    """Return the lines of a `.config` for `--config`: `NAME=VALUE`, or a preset's name. Raises `KernelError`.

    A preset is for all series; a series that cannot have all of its lines has others, which take precedence.
    """
    options: dict[str, str] = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals:
            lines = options_of(*_preset(word, tree, series))
        elif re.fullmatch(r"(CONFIG_)?\w+", name) and value and "\n" not in value:
            name = f"CONFIG_{name.removeprefix('CONFIG_')}"
            lines = [f"# {name} is not set" if value == "n" else f"{name}={value}"]
        else:
            raise KernelError(f"--config {word} is neither an option, such as NET_SCH_CAKE=y, nor a preset.")
        options |= {option_name(line): line for line in lines}
    return tuple(options.values())


def presets(tree: Path = TREE) -> list[str]:
    """The names of presets, groups of options for `--config`."""
    return sorted(path.stem for path in (tree / "presets").glob("*.config"))


def patches_of_presets(given: Sequence[str], tree: Path = TREE) -> list[Path]:
    """Return the patches that the presets among the words of `--config` need."""
    places = (tree / "presets" / f"{word}.patch" for word in given if "=" not in word)
    return [path for path in places if path.is_file()]


def _preset(name: str, tree: Path, series: str) -> list[Path]:
    if name not in (known := presets(tree)):
        raise KernelError(
            f'There is no preset "{name}"{did_you_mean(name, known)}. --config takes a preset\'s name, or NAME=VALUE.'
        )
    places = (folder / "presets" / f"{name}.config" for folder in (tree, tree / series))
    return [path for path in places if path.is_file()]


def unmet_options(options: Sequence[str], config: str) -> list[str]:
    """Return the options that the finished `.config` does not honour (an absent option counts as not set)."""
    lines = set(config.splitlines())
    return [option for option in options if not _met(option, lines)]


def _met(option: str, lines: set[str]) -> bool:
    if option in lines:
        return True
    if not option.startswith("#"):
        return False
    name = option.split()[1]
    return not any(line.startswith(f"{name}=") for line in lines)


def _first_line(program: str) -> str:
    try:
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise CannotBuild(
            f"The kernel needs the compiler tools, but `{program} --version` does not run ({error}). "
            "Install them with `apt-get install gcc make`; `netwarp doctor` lists everything that is missing."
        ) from error
    return answer.stdout.partition("\n")[0].strip()
