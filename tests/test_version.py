"""Cargo.toml states the version; files that cannot take it from there agree."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tools.release import Repository

ROOT = Path(__file__).parents[1]
WORKSPACE = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
VERSION = WORKSPACE["package"]["version"]


def test_the_package_takes_the_version_of_the_workspace() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in project["project"]
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["maturin"]["manifest-path"] == "packaging/Cargo.toml"


def test_every_file_that_states_the_version_agrees() -> None:
    """`make release` changes these; another file with the version in it belongs to the tool's list."""
    assert {version for _, version in Repository().stated()} == {VERSION}


def test_the_wheels_of_this_repository_require_each_other_in_that_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["modules"]]
    own = {f"netwarp-{part}=={VERSION}" for part in ("kernel", "tools", "kernel-devel")}
    assert {one for one in asked if one.startswith("netwarp-")} == own


def test_every_crate_has_that_version() -> None:
    crates = [tomllib.loads((ROOT / crate / "Cargo.toml").read_text()) for crate in WORKSPACE["members"]]
    assert [crate["package"]["version"] for crate in crates] == [{"workspace": True}] * len(crates)
