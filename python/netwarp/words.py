"""Words for people, used by every stage."""

import difflib
from collections.abc import Iterable
from itertools import islice

_MOST_KNOWN = 500
_LONGEST = 100


def shortened(text: str, most: int) -> str:
    """The text, its middle left out where it has more than `most` characters."""
    return text if len(text) <= most else f"{text[: most - 40]} … {text[-37:]}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` (did you mean "x"?)` for the known word nearest to `word`; else the known words, if they are few."""
    words = list(islice(dict.fromkeys(known), _MOST_KNOWN))
    if len(word) > _LONGEST:
        return ""
    near = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    if near:
        return f' (did you mean "{near[0]}"?)'
    if words and len(words) <= 20:
        return " (known: " + ", ".join(words) + ")"
    return ""
