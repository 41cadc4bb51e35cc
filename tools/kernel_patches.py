"""The kernel's patches, checked against the sources of all series: `python -m tools.kernel_patches`.

Each series must apply without fuzz, each patch must be written as here (`--refresh` writes it so), and the kernel's
own `scripts/checkpatch.pl` must find nothing in patches and files. With `--tree DIR` each series is left in DIR, a git
repository of the changed files with a commit for each patch, made by `git am`.
"""

import argparse
import difflib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from netwarp.kernels.errors import KernelError
from netwarp.kernels.objects import PROFILE
from netwarp.kernels.patches import touched_by
from netwarp.kernels.recipe import TREE, files_of, known_series, patches_of
from netwarp.kernels.source import find_source

CONTEXT = 3
"""Lines of context around a change, as in git; fewer where the series differ."""

CHECKPATCH = ("perl", "scripts/checkpatch.pl", "--no-tree", "--terse", "--show-types", "--no-summary", "--no-signoff")
"""The sender of a patch signs it off; netwarp does not write that line."""
UNAVOIDABLE: Mapping[str, str] = {
    "ALLOC_WITH_SIZEOF": "kzalloc_obj(), which later series have, is not in 6.1 and 6.12",
    "ARRAY_SIZE": "code for the host's side, which has no such macro",
    "AVOID_BUG": "a BUG_ON() of the kernel's own whose limit changes",
    "AVOID_EXTERNS": "a symbol of the linker's, declared where it is used, as in the files beside it",
    "COMPLEX_MACRO": "macros that expand to members of an initialiser",
    "CONSTANT_COMPARISON": "a macro that is taken for a constant by its capital letters",
    "EMBEDDED_FUNCTION_NAME": "a message of the kernel's own that changes in something else",
    "EXPORT_SYMBOL": "what the host's side defines is exported in arch/um/kernel/ksyms.c",
    "ENOSYS": "the answer to a system call without a valid number, as upstream's",
    "EXPORTED_WORLD_WRITABLE": "a file of /proc that each program of the machine may write to",
    "FUNCTION_ARGUMENTS": "an attribute behind a declaration, which is taken for an argument",
    "LINUX_VERSION_CODE": "a header that modules for all series include",
    "LONG_LINE_STRING": "a message, which is not split over lines",
    "MACRO_ARG_UNUSED": "a macro that counts its arguments",
    "PREFER_DEFINED_ATTRIBUTE_MACRO": "code for the host's side, which has no such macro",
    "PREFER_SEQ_PUTS": "a line as those around it",
    "PRINTK_WITHOUT_KERN_LEVEL": "a level that is a variable, or has the name UM_KERN_ERR, which is not known to it",
    "QUOTED_WHITESPACE_BEFORE_NEWLINE": "a set of separators, not a message",
    "UNKNOWN_COMMIT_ID": "a commit of Linux, whose history is not here",
    "VOLATILE": "flags that a signal handler of the host sets",
    "YIELD": "yield() is meant: another task that is ready is to run first",
}
"""Classes of findings that are wrong here, and why."""

_PATCH = ("patch", "-p1", "--forward", "--batch", "--no-backup-if-mismatch", "--quiet")
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)\n")


@dataclass(frozen=True)
class Step:
    """A patch applied to a series: the text of each file before and after."""

    before: Mapping[str, str]
    after: Mapping[str, str]


def steps_of(series: str, source: Path, fuzz: int) -> dict[Path, Step]:
    """Apply a series' patches to the files of `source`. Raises SystemExit with patch's words for one that does not."""
    steps = {}
    for path in patches_of(TREE, series):
        names = sorted(touched_by(path))
        before = {name: (source / name).read_text() for name in names}
        done = _run(source, *_PATCH, f"--fuzz={fuzz}", f"--input={path}")
        if done.returncode != 0:
            raise SystemExit(f"{_name(path)} does not apply to Linux {series}:\n{done.stdout}{done.stderr}")
        steps[path] = Step(before, {name: (source / name).read_text() for name in names})
    return steps


def written(path: Path, steps: Sequence[Step]) -> str | None:
    """A patch as it should be written, so that it makes each of the steps (the newest series' first); None if none can.

    The hunks are those of the first step, with as much context as all share.
    """
    newest, *others = steps
    text = [path.read_text().partition("\n---\n")[0], "\n---\n\n"]
    if any(step.before.keys() != newest.before.keys() for step in others):
        return None
    for name, before in newest.before.items():
        pairs = [(step.before[name], step.after[name]) for step in others]
        change = _change(name, before, newest.after[name], pairs)
        if change is None:
            return None
        text.append(change)
    return "".join(text)


def _change(name: str, before: str, after: str, others: Sequence[tuple[str, str]]) -> str | None:
    """The change of a file as `git diff` writes it, which makes the other changes as well; None if none does."""
    head = f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n"
    texts = [old for old, _ in others]
    for context in range(CONTEXT, 0, -1):
        text = head + "".join(_trimmed(hunk, texts) for hunk in _hunks(before, after, context))
        if all(_makes(name, text, old, new) for old, new in [(before, after), *others]):
            return text
    return None


def _hunks(before: str, after: str, context: int) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        old, new = Path(folder) / "old.c", Path(folder) / "new.c"
        old.write_text(before)
        new.write_text(after)
        done = _run(Path(folder), "git", "diff", "--no-index", f"-U{context}", "--no-color", "old.c", "new.c")
    return re.split(r"^(?=@@ )", done.stdout, flags=re.MULTILINE)[1:]


def _trimmed(hunk: str, texts: Sequence[str]) -> str:
    """A hunk without the lines of context at its ends that some of the texts have otherwise.

    patch(1) takes a hunk that ends with less context than it begins with for one at the end of the file.
    """
    head, *original = hunk.splitlines(keepends=True)
    found = _HUNK.match(head)
    assert found
    for lines in (original, _slid(original)):
        lead = next(number for number, line in enumerate(lines) if line[0] != " ")
        trail = next(number for number, line in enumerate(reversed(lines)) if line[0] != " ")
        choices = [(first, last) for last in range(trail, 0, -1) for first in range(min(lead, last), -1, -1)]
        for first, last in sorted(choices, key=sum, reverse=True):
            kept = lines[lead - first : len(lines) - (trail - last)]
            old = "".join(line[1:] for line in kept if line[0] != "+")
            if all(f"\n{old}" in f"\n{text}" for text in texts):
                old_at, new_at = (int(found[number]) + lead - first for number in (1, 2))
                olds, news = (sum(line[0] in kind for line in kept) for kind in (" -", " +"))
                return f"@@ -{old_at},{olds} +{new_at},{news} @@{found[3]}\n{''.join(kept)}"
    return hunk


def _slid(lines: Sequence[str]) -> list[str]:
    """The lines of a hunk whose last inserted line is also before them: the same change, one line earlier."""
    end = max(number for number, line in enumerate(lines) if line[0] != " ")
    start = next((number for number in range(end, -1, -1) if lines[number][0] != "+"), 0)
    if start == end or lines[start] != f" {lines[end][1:]}":
        return list(lines)
    return [*lines[:start], f"+{lines[start][1:]}", *lines[start + 1 : end], lines[start], *lines[end + 1 :]]


def _makes(name: str, text: str, before: str, after: str) -> bool:
    """Whether the change of a file applies without fuzz, and gives that."""
    with tempfile.TemporaryDirectory() as folder:
        file, change = Path(folder) / name, Path(folder) / "a.patch"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(before)
        change.write_text(text)
        done = _run(Path(folder), *_PATCH, "--fuzz=0", "--input=a.patch")
        return done.returncode == 0 and file.read_text() == after


def unpacked(series: str, place: Path) -> Path:
    """The files of a series' source that its patches change, and checkpatch, in a directory under `place`."""
    names = set().union(*(touched_by(path) for path in patches_of(TREE, series)))
    names |= {"scripts/checkpatch.pl", "scripts/spelling.txt", "scripts/const_structs.checkpatch"}
    archive, target = find_source(series=series), place / series
    target.mkdir(parents=True)
    wanted = (f"{archive.name.removesuffix('.tar.xz')}/{name}" for name in sorted(names))
    done = _run(place, "tar", "-xJf", str(archive), "-C", str(target), "--strip-components=1", *wanted)
    if done.returncode != 0:
        raise SystemExit(f"{archive}: {done.stderr}")
    return target


def findings(kernel: Path, known: Sequence[str]) -> Iterator[str]:
    """The findings of a kernel's checkpatch in the patches and files of all `known` series."""
    patches = sorted({path for series in known for path in patches_of(TREE, series)})
    files = sorted({path for series in known for path in files_of(TREE, series).values() if path.suffix != PROFILE})
    for kind, paths in ([], patches), (["--file"], files):
        done = _run(kernel, *CHECKPATCH, f"--ignore={','.join(UNAVOIDABLE)}", *kind, *map(str, paths))
        yield from (line for line in done.stdout.splitlines() if line.strip())


def leave(series: str, source: Path) -> None:
    """Make a git repository of an unpacked source, with a commit for each patch."""
    git = ("git", "-c", "user.name=netwarp", "-c", "user.email=netwarp@netwarp.invalid")
    steps = [("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", f"Linux {series}")]
    for step in [*steps, ("am", "--quiet", *map(str, patches_of(TREE, series)))]:
        done = _run(source, *git, *step)
        if done.returncode != 0:
            raise SystemExit(f"{source}: git {step[0]}: {done.stdout}{done.stderr}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Check the patches, or write them. Exits with the faults."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--refresh", action="store_true", help="apply with fuzz, and write the patches as they apply")
    parser.add_argument("--tree", type=Path, metavar="DIR", help="leave the series there, a git repository each")
    given = parser.parse_args(arguments)
    try:
        wrong = _wrong(known_series(), given.refresh, given.tree)
    except KernelError as error:
        sys.exit(str(error))
    if wrong:
        sys.exit("\n".join(wrong))


def _wrong(known: Sequence[str], refresh: bool, tree: Path | None) -> list[str]:
    """Faults of the patches, which `refresh` corrects. Raises KernelError without a source."""
    users: dict[Path, list[Step]] = {}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for series in reversed(known):
            place = unpacked(series, Path(folder))
            for path, step in steps_of(series, place, CONTEXT if refresh else 0).items():
                users.setdefault(path, []).append(step)
        for path, steps in users.items():
            should = written(path, steps)
            if should is None:
                wrong += [f"{_name(path)} cannot be one for all series: give one its own patch of this name."]
            elif refresh:
                path.write_text(should)
            elif path.read_text() != should:
                wrong += [f"{_name(path)} is not as it should be:", *_differences(path.read_text(), should)]
            namesakes = [other for other in users if other.name == path.name and other != path]
            if any(written(path, [*steps, *users[other]]) for other in namesakes):
                wrong += [f"{_name(path)} could be one for all series: those of one are not needed."]
        if not refresh:
            wrong += findings(Path(folder) / known[-1], known)
    if tree is not None:
        for series in known:
            leave(series, unpacked(series, tree))
    return wrong


def _differences(there: str, should: str) -> Iterator[str]:
    lines = difflib.unified_diff(there.splitlines(), should.splitlines(), "there", "--refresh", lineterm="", n=1)
    return (f"    {line}" for line in lines)


def _name(path: Path) -> str:
    return path.relative_to(TREE).as_posix()


def _run(place: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    main()
