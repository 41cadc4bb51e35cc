"""The version is stated in agent/Cargo.toml; what cannot take it from there says the same."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSION = tomllib.loads((ROOT / "agent" / "Cargo.toml").read_text())["package"]["version"]


def test_the_package_takes_the_version_of_the_agent() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in project["project"]
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["maturin"]["manifest-path"] == "agent/Cargo.toml"


def test_the_citation_and_the_capture_crate_have_the_version_of_the_agent() -> None:
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None
    assert cited[1] == VERSION
    assert tomllib.loads((ROOT / "capture" / "Cargo.toml").read_text())["package"]["version"] == VERSION
