"""Documents that say what a command's directory holds, so that another result does not replace it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from netwarp.common.words import shortened
from netwarp.store.errors import PlanMismatchError
from netwarp.store.files import read_json
from netwarp.values.json_values import Json

_LONGEST = 100


def refuse_other(document: Path, wanted: Mapping[str, Json]) -> None:
    """Raise PlanMismatchError if this document is there and one of the wanted entries has another value in it.

    Raises StoreError if it cannot be read.
    """
    if not document.exists():
        return
    here = read_json(document)
    for key, value in wanted.items():
        if here.get(key) != value:
            raise PlanMismatchError(
                f"{document.parent} holds another result ({key}: {_words(here.get(key))}, not {_words(value)}); "
                "choose another directory with -o, or remove it"
            )


def _words(value: Json) -> str:
    return shortened(json.dumps(value, ensure_ascii=False), _LONGEST)
