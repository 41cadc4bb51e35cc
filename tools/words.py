"""Words that STYLE.md replaces, and that have been removed everywhere: `python -m tools.words` finds new ones."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACES = (
    *("python", "tests", "tools", "bench", "docs", "examples", "packaging"),
    *(f"{crate}/src" for crate in ("agent", "capture", "observe", "records")),
)
KINDS = {".py", ".rs", ".md", ".toml", ".html", ".js", ".ipynb"}
_LEFT = ("kernels/tree", "__snapshots__", "agent/src/guard/layout.rs", "tools/words.py", "tests/test_words.py")
"""The kernel's patches (their comments are part of a kernel's identity), files generated from them, and this list
itself."""

PATTERNS = {
    r"beneath": "under or below",
    r"anew": "again",
    r"thereof": "its",
    r"likewise": "repeat the noun, or state the rule",
    r"as said\.": "repeat what was said",
    r"none of none": "None if empty; None if missing",
    r"whoever": "the caller, the user, the one who",
    r"somebody": "the user, another program: name who",
    r"what (?:came|became) of": "the noun: the result, the fate",
    r"in (?:one|the same) instant": "at the same instant",
    r"(?:lies|stands) in(?! (?:the (?:way|place)|for)\b)": "is in",
}
_PATTERN = re.compile("|".join(rf"(?P<p{n}>(?<![A-Za-z]){one}(?![a-z]))" for n, one in enumerate(PATTERNS)), re.I)

_ANYWHERE = [re.compile(one) for one in PATTERNS]


def findings(root: Path = ROOT) -> Iterator[str]:
    """`FILE:LINE: "word": replacement`, for each word that should not be there."""
    paths = [*root.glob("*.md"), *(path for place in PLACES for path in (root / place).rglob("*"))]
    for path in sorted(path for path in paths if path.suffix in KINDS):
        name = str(path.relative_to(root))
        if name in ("CHANGELOG.md", "STYLE.md") or any(part in name for part in _LEFT):
            continue
        text = path.read_text()
        # A search for each pattern in small letters takes a tenth of the time of `_PATTERN` on each line.
        small = text.lower()
        if not any(one.search(small) for one in _ANYWHERE):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for found in _PATTERN.finditer(line):
                wanted = list(PATTERNS.values())[int(str(found.lastgroup)[1:])]
                yield f'{name}:{number}: "{found[0]}": {wanted}'


if __name__ == "__main__":
    lines = list(findings())
    print(*lines, sep="\n") if lines else None
    sys.exit(f"{len(lines)} words that STYLE.md replaces" if lines else 0)
