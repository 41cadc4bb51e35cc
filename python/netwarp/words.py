"""Words for people, used by every stage."""

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` (did you mean "x"?)` for the known word nearest to `word`; else the known words, if they are few."""
    words = list(dict.fromkeys(known))
    near = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    if near:
        return f' (did you mean "{near[0]}"?)'
    if words and len(words) <= 20:
        return " (known: " + ", ".join(words) + ")"
    return ""
