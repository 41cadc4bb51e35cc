"""The rules for names in scenarios and results, and for names found in a network; they are stated only here.

A name becomes part of file names, command lines, verdict lines, tables and spreadsheets. So no name has a line break
(it could forge a verdict) or begins with a character that makes a spreadsheet take it for a formula.
"""

from __future__ import annotations

import re
import unicodedata

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}", re.ASCII)
"""The name of a scenario, node, link, flow, tuner or preset."""
NAME_RULE = '1 to 64 letters, digits, "_" and "-", the first of which is not "-"'
KERNEL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._+-]{0,49}", re.ASCII)
MAX_LABEL = 100
FORMULA = "=+-@"
"""Characters with which a formula in a spreadsheet's cell begins (OWASP, CSV injection); tabs and line breaks, which
count there too, are not allowed in names anyway."""
LABEL_RULE = f'one line of 1 to {MAX_LABEL} printable characters that does not begin with "=", "+", "-", "@" or a blank'


def checked_name(value: str) -> str:
    """Check that a value is a name. Raises ValueError with the rule."""
    if not NAME.fullmatch(value):
        raise ValueError(f'"{value[:80]}" is not a name; names are {NAME_RULE}')
    return value


def checked_kernel_name(value: object) -> object:
    """Check that a value can name a kernel. Raises ValueError with the rule."""
    if isinstance(value, int | float):
        raise ValueError(f'{value} is a number; a kernel is named by text, such as "stock"')
    if isinstance(value, str) and not KERNEL_NAME.fullmatch(value):
        raise ValueError(
            f'"{value[:60]}" is not the name of a kernel: it begins with a letter; letters, digits and ._+- may follow'
        )
    return value


def is_plain(text: str) -> bool:
    """Whether the text is one printable line that a spreadsheet does not take for a formula."""
    return bool(text.strip()) and all(map(_is_shown, text)) and text[0] not in FORMULA and not text[0].isspace()


def _is_shown(sign: str) -> bool:
    """Whether a character is printable; typographic blanks (as in "10\\u00a0ms") count as printable."""
    return sign.isprintable() or unicodedata.category(sign) == "Zs"


def checked_label(value: str) -> str:
    """Check that a value is a label: the name of a case, which may have several words. Raises ValueError."""
    if len(value) > MAX_LABEL or not is_plain(value):
        raise ValueError(f"{value[:80]!r} is not a label; a label is {LABEL_RULE}")
    return value


def made_label(text: str) -> str:
    """Turn text into a label, with `?` for characters that labels cannot hold; empty if nothing is left."""
    found = "".join(sign if _is_shown(sign) else "?" for sign in text).strip()[:MAX_LABEL]
    return f"?{found[1:]}" if found.startswith(tuple(FORMULA)) else found


def found_name(text: str) -> str:
    """Turn the name of something found in a network into a valid one; invalid characters become `_`."""
    name = re.sub(r"[^\w.@+-]", "_", text, flags=re.ASCII)[:60]
    return re.sub(rf"^[{re.escape(FORMULA)}]", "_", name) or "_"
