"""The page of an advice."""

import json
from pathlib import Path

from netwarp.advise.advice import Advice
from netwarp.advise.render import as_json
from netwarp.store.files import write_text


def write_page(advice: Advice, directory: Path) -> Path:
    path = directory / "advice.json"
    write_text(path, json.dumps(as_json(advice), indent=2, ensure_ascii=False) + "\n")
    return path
