"""What decides a kernel: the source, `tree/` (options, changes, files) and the compiler; and the key made of them."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

from netwarp.kernels.errors import BuildFailed, KernelError
from netwarp.kernels.source import Source

TREE = Path(__file__).parent / "tree"
"""The packaged options (`netwarp.config`), changes (`patches/*.patch`) and files (`files/**`)."""

FORMAT = 3
"""Raised when the way of building changes what comes out: 2, with a description beside the image; 3, with what modules
are compiled against."""

_OPTION = re.compile(r"CONFIG_\w+=.+|# CONFIG_\w+ is not set")


@dataclass(frozen=True)
class Recipe:
    """All that decides the bytes of a kernel."""

    source_digest: str
    tree_digest: str
    compiler: str
    format: int = FORMAT

    @property
    def key(self) -> str:
        """The name of the kernel in the cache: the first 16 hex digits of the SHA-256 over everything here."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]


def recipe_of(source: Source, tree: Path = TREE) -> Recipe:
    """Return the recipe for this source, tree and the compiler on PATH; raises `BuildFailed` without a compiler."""
    return Recipe(source.digest, tree_digest(tree), compiler_version())


def fragment_of(tree: Path) -> Path:
    """Return the file of configuration options."""
    return tree / "netwarp.config"


def patches_of(tree: Path) -> list[Path]:
    """Return the changes to the source, in the order in which they are applied."""
    return sorted((tree / "patches").glob("*.patch"))


def files_of(tree: Path) -> list[Path]:
    """Return the files that are copied into the source."""
    return sorted(path for path in (tree / "files").rglob("*") if path.is_file())


def tree_digest(tree: Path = TREE) -> str:
    """Return the SHA-256 (hex) over names and contents of the options, the changes and the files."""
    digest = hashlib.sha256()
    for path in [fragment_of(tree), *patches_of(tree), *files_of(tree)]:
        content = path.read_bytes()
        digest.update(f"{path.relative_to(tree).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def compiler_version() -> str:
    """Return what gcc and ld call themselves, one line; raises `BuildFailed` when one of them is missing."""
    return "; ".join(_first_line(program) for program in ("gcc", "ld"))


def options_of(fragment: Path) -> list[str]:
    """Return the options of a fragment as lines of a `.config`; raises `KernelError` for a line that is none."""
    options = []
    for number, text in enumerate(fragment.read_text().splitlines(), 1):
        line = text.strip()
        if _OPTION.fullmatch(line):
            options.append(line)
        elif line and (not line.startswith("#") or line.startswith("# CONFIG_")):
            raise KernelError(
                f"{fragment}:{number}: `{line}` is not an option. "
                "Write `CONFIG_NAME=value` or `# CONFIG_NAME is not set`."
            )
    return options


def unmet_options(options: list[str], config: str) -> list[str]:
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
        raise BuildFailed(
            f"The kernel needs the compiler tools, but `{program} --version` does not run ({error}). "
            "Install them with `apt-get install gcc make`; `netwarp doctor` names all that is missing."
        ) from error
    return answer.stdout.partition("\n")[0].strip()
