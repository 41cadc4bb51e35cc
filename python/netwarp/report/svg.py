"""Figures of matplotlib as short SVG for a page, with text as text and nothing rasterised."""

import html
import re
from io import BytesIO
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_TAG = re.compile(r"<[^>]+>")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_ID = re.compile(r'\bid="([^"]+)"')
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
_REFERENCE = re.compile(r'(xlink:href="#|url\(#)([^")]+)')


def inline(figure: "Figure", key: str, label: str) -> Markup:
    """The figure as an `<svg>` element; `key` makes its ids unique in the page, `label` is for screen readers."""
    held = BytesIO()
    figure.savefig(
        held, format="svg", transparent=True, metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
    )
    return compact(held.getvalue().decode(), key, label)


def compact(text: str, key: str, label: str) -> Markup:
    """Turn an SVG file of netwarp into an element of a page: without head and comments, coordinates to hundredths.

    Unused ids are removed, the others get the key as a prefix.
    """
    body = text[text.index("<svg") :]
    body = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<title>.*?</title>", "", body, flags=re.DOTALL)
    body = _TAG.sub(lambda tag: _NUMBER.sub(_rounded, tag[0]), _CONTROL.sub("", body))
    used = {match[2] for match in _REFERENCE.finditer(body)}
    body = _ID.sub(lambda match: f'id="{key}-{match[1]}"' if match[1] in used else "", body)
    body = _REFERENCE.sub(rf"\1{key}-\2", body)
    body = re.sub(r">\s+<", "><", re.sub(r"\s*\n\s*", " ", body)).replace("<g >", "<g>")
    return Markup(body.replace("<svg", f'<svg role="img" aria-label="{escape(label)}"', 1).strip())


def title_of(text: str) -> str | None:
    """The title in an SVG file; None if it has none."""
    found = _TITLE.search(text)
    return None if found is None else html.unescape(found[1])


def _rounded(match: re.Match[str]) -> str:
    return f"{float(match[0]):.2f}".rstrip("0").rstrip(".")
