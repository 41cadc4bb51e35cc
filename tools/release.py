"""A release, up to the upload: `make release VERSION=x.y.z` (`python -m tools.release x.y.z`).

It checks that the tree is main's last commit and that CHANGELOG.md has something to release, writes the version into
all files that state it, makes a section of *Unreleased*, commits, builds the wheels of this commit (`make dist`),
writes notes and checksums beside them, and tags. If the wheels cannot be built, the repository is as it was before.
Nothing leaves this machine: the commands that publish are printed. Exit code 0: done; 1: not, and why.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
BRANCH = "main"
CHANGELOG = "CHANGELOG.md"
UNRELEASED = "## [Unreleased]\n"
SUMS = "SHA256SUMS"
NOTES = "NOTES.md"

_NUMBERS = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:rc(\d+))?")
_VERSION = r"\d+\.\d+\.\d+(?:rc\d+)?"
SOURCE = "Cargo.toml"
STATED = {
    SOURCE: r'^version = "',
    "pyproject.toml": r"netwarp-(?:kernel|kernel-devel|tools)==",
    "CITATION.cff": r"^version: ",
    "Cargo.lock": r'name = "netwarp[a-z-]*"\nversion = "',
    "capture/fuzz/Cargo.lock": r'name = "netwarp-capture"\nversion = "',
    "docs/ci.md": r"netwarp@v",
    "examples/ci/github.yml": r"netwarp@v",
    "action.yml": r"netwarp==",
}
"""The text before netwarp's version in each file that states it: the first is the source, and the others agree."""
_PUBLISH = """\
Everything is in {out}, and nothing has left this machine. To publish it:
  git push origin {branch} v{version}
  twine upload {out}/*.whl
Then put {notes} on the release's page, with all files of {out}: the licences ask for {out}/sources.
"""


class ReleaseError(Exception):
    """There can be no release; the message says why and what to do."""


@dataclass(frozen=True)
class Repository:
    """A git repository with netwarp's sources."""

    root: Path = ROOT

    def git(self, *words: str, text: str | None = None) -> str:
        """Run git with this standard input; return what it prints. Raises ReleaseError."""
        command = ["git", "-C", str(self.root), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, input=text)
        if done.returncode != 0:
            raise ReleaseError(f"`git {' '.join(words)}` failed: {done.stderr.strip()}")
        return done.stdout.strip()

    def read(self, name: str) -> str:
        """A file's text. Raises ReleaseError."""
        try:
            return (self.root / name).read_text()
        except OSError as error:
            raise ReleaseError(f"{name} cannot be read: {error.strerror}.") from None

    def stated(self) -> Iterator[tuple[str, str]]:
        """Every statement of the version: file and version. Raises ReleaseError for a file without one."""
        for name, before in STATED.items():
            found = re.findall(f"{before}({_VERSION})", self.read(name), re.MULTILINE)
            if not found:
                raise ReleaseError(f"{name} does not state the version any more: correct tools/release.py.")
            yield from ((name, version) for version in found)

    def with_version(self, version: str) -> dict[str, str]:
        """The texts of the files that state the version, with this one. Raises ReleaseError."""
        return {
            name: re.sub(f"({before}){_VERSION}", rf"\g<1>{version}", self.read(name), flags=re.MULTILINE)
            for name, before in STATED.items()
        }


def refuse(repository: Repository, version: str) -> None:
    """Raise ReleaseError if this version cannot be released from the present tree."""
    if _NUMBERS.fullmatch(version) is None:
        raise ReleaseError(f'"{version}" is not a version; expected x.y.z, or x.y.zrcN for a candidate.')
    if (branch := repository.git("rev-parse", "--abbrev-ref", "HEAD")) != BRANCH:
        raise ReleaseError(f"The branch is {branch}: a release is made from {BRANCH} (git switch {BRANCH}).")
    if changed := repository.git("status", "--porcelain"):
        raise ReleaseError(f"The tree has changes that are not committed:\n{changed}")
    tags = repository.git("tag", "--list", "v*").splitlines()
    if f"v{version}" in tags:
        raise ReleaseError(f"The tag v{version} exists already.")
    newest = max((tag[1:] for tag in tags if _NUMBERS.fullmatch(tag[1:])), key=_order, default=version)
    if _order(version) < _order(newest):
        raise ReleaseError(f"{version} is older than {newest}, which has been released.")
    stated = dict.fromkeys(said for _, said in repository.stated())
    if len(stated) > 1:
        raise ReleaseError(f"The files of the tree state several versions: {', '.join(stated)}.")
    if not unreleased(repository.read(CHANGELOG)):
        raise ReleaseError(f"{CHANGELOG} has nothing under [Unreleased], so there is nothing to release.")


def _order(version: str) -> tuple[int, ...]:
    """A key that sorts versions: a candidate comes before its release."""
    found = _NUMBERS.fullmatch(version)
    if found is None:
        return (-1,)
    major, minor, patch, candidate = found.groups()
    return int(major), int(minor), int(patch), sys.maxsize if candidate is None else int(candidate)


def unreleased(changelog: str) -> str:
    """The text under *Unreleased*, without its heading; empty if there is nothing. Raises ReleaseError."""
    _, heading, rest = changelog.partition(UNRELEASED)
    if not heading:
        raise ReleaseError(f'{CHANGELOG} has no line "{UNRELEASED.strip()}".')
    return re.split(r"^## ", rest, maxsplit=1, flags=re.MULTILINE)[0].strip()


def released(changelog: str, version: str, day: str) -> str:
    """The changelog in which what was unreleased belongs to a version of this day (YYYY-MM-DD)."""
    return changelog.replace(UNRELEASED, f"{UNRELEASED}\n## [{version}] - {day}\n", 1)


def notes(version: str, changes: str) -> str:
    """The notes of a release, in Markdown."""
    return f"# netwarp {version}\n\n`pip install netwarp=={version}`; `netwarp self-test` proves it.\n\n{changes}\n"


def checksums(directory: Path) -> str:
    """A line of sha256sum(1) for each file below a directory but the list itself."""
    files = sorted(path for path in directory.rglob("*") if path.is_file() and path.name != SUMS)
    lines = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(directory)}\n" for path in files)
    return "".join(lines)


def release(repository: Repository, version: str, build: Callable[[], bool], day: str) -> str:
    """Commit, build into `dist`, and tag; return what remains to be done.

    `build` makes dist/ of the last commit, and says whether a release can be made of it. Raises ReleaseError: then the
    repository is as it was.
    """
    refuse(repository, version)
    before, changes = repository.git("rev-parse", "HEAD"), unreleased(repository.read(CHANGELOG))
    texts = {**repository.with_version(version), CHANGELOG: released(repository.read(CHANGELOG), version, day)}
    out, said = repository.root / "dist", notes(version, changes)
    try:
        for name, text in texts.items():
            (repository.root / name).write_text(text)
        repository.git("commit", "--quiet", "--all", "--message", f"Release {version}")
        if not build():
            raise ReleaseError(f"The wheels could not be made, so {version} is neither committed nor tagged.")
        (out / NOTES).write_text(said)
        (out / SUMS).write_text(checksums(out))
        repository.git("tag", "--annotate", f"v{version}", "--cleanup=verbatim", "--file=-", text=said)
    except BaseException:
        repository.git("reset", "--quiet", "--hard", before)
        raise
    return _PUBLISH.format(out="dist", branch=BRANCH, version=version, notes=f"dist/{NOTES}")


def preview(repository: Repository, version: str, day: str) -> str:
    """The changes that a release would make, in words. Raises ReleaseError."""
    refuse(repository, version)
    texts = repository.with_version(version)
    changed = [name for name, text in texts.items() if text != repository.read(name)]
    places = ", ".join(changed) or "none: they state it already"
    heading = f"{CHANGELOG} gets the section [{version}] - {day}"
    text = notes(version, unreleased(repository.read(CHANGELOG)))
    return f"Files that would state {version}: {places}\n{heading}\nThe notes would be:\n\n{text}"


def make_dist() -> bool:
    """Build the wheels of the last commit, and the archive for classrooms; whether a release can be made of them."""
    steps = ([sys.executable, "-m", name] for name in ("tools.dist", "tools.dist.classroom"))
    return all(subprocess.run(step, cwd=ROOT, check=False).returncode == 0 for step in steps)


def main(arguments: Sequence[str] | None = None) -> int:
    """Make a release, or say what it would be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", help="such as 0.2.0")
    parser.add_argument("--dry-run", action="store_true", help="check, and print what would change")
    given = parser.parse_args(arguments)
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    try:
        if given.dry_run:
            print(preview(Repository(), given.version, day))
        else:
            print(release(Repository(), given.version, make_dist, day), end="")
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
