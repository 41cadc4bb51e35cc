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
    r"what (?:came|became|has become) of": "the noun: the result, the fate",
    r'(?:"""(?:what|why|so many|of|by which|whose|who)|//[/!] (?:what|so many))(?= )': "begin with a verb or a noun",
    r"of (?:its|their) own(?m:(?=\s*[.,;:)|\"`]|$))": "its own X, or a separate X",
    r"(?<!there )(?:is|are) no(?= (?!longer|more|less|other|such|faster|slower|secret))": "is not a",
    r"hears? of": "learns of, gets",
    r"nobody(?= (?:else|has|is|reads|waits|asks|knows|needs|measures|would))": "no program, no flow: name who",
    r"as (?:an?|the|its|netem's) \w+ ha(?:s|ve) (?:it|them)": "in the X's form or syntax",
    r"(?:is|are) of the(?! (?:same|kind|form|order|size|type))": "belongs to, applies to, is from",
    r"(?:knows?|speaks?|said) of": "about; applies to",
    r"of the user's(?m:(?=[.,;:)]|$))": "the user's X",
    r"in (?:one|the same) instant": "at the same instant",
    r"(?:lies|stands) in(?! (?:the (?:way|place)|for)\b)": "is in",
}

KNOWN = {
    "agent/src/traffic/http/body.rs": 1,
    "agent/src/traffic/http/client.rs": 1,
    "agent/src/traffic/http/endpoint.rs": 1,
    "agent/src/traffic/http/log.rs": 2,
    "agent/src/traffic/http/mod.rs": 2,
    "agent/src/traffic/http/transport.rs": 1,
    "docs/records.md": 3,
    "docs/scenario.md": 1,
    "python/netwarp/flows/http.py": 2,
    "python/netwarp/gallery/program/vivace.py": 1,
    "python/netwarp/policy.py": 1,
    "python/netwarp/store/kernel_tables.py": 1,
    "python/netwarp/store/summary.py": 1,
    "python/netwarp/store/table.py": 1,
}
"""The findings that a file may have. The bytes of programs are a part of a run's identity; the other files are still to
be read."""
_PATTERN = re.compile("|".join(rf"(?P<p{n}>(?<![A-Za-z]){one}(?![a-z]))" for n, one in enumerate(PATTERNS)), re.I)

_ANYWHERE = [re.compile(one) for one in PATTERNS]


def findings(root: Path = ROOT) -> Iterator[str]:
    """`FILE:LINE: "word": replacement`, for each word that should not be there."""
    paths = [*root.glob("*.md"), *(path for place in PLACES for path in (root / place).rglob("*"))]
    for path in sorted(path for path in paths if path.suffix in KINDS):
        name = str(path.relative_to(root))
        if name in ("CHANGELOG.md", "STYLE.md") or any(part in name for part in _LEFT):
            continue
        found = list(_in_text(path.read_text()))
        if len(found) > KNOWN.get(name, 0):
            yield from (f"{name}:{one}" for one in found)


def _in_text(text: str) -> Iterator[str]:
    # A search for each pattern in small letters takes a tenth of the time of `_PATTERN` on each line.
    small = text.lower()
    if not any(one.search(small) for one in _ANYWHERE):
        return
    for number, line in enumerate(text.splitlines(), 1):
        for found in _PATTERN.finditer(line):
            wanted = list(PATTERNS.values())[int(str(found.lastgroup)[1:])]
            yield f'{number}: "{found[0]}": {wanted}'


if __name__ == "__main__":
    lines = list(findings())
    print(*lines, sep="\n") if lines else None
    sys.exit(f"{len(lines)} words that STYLE.md replaces" if lines else 0)
