"""Every command of README.md and docs/, those that take minutes or build kernels included, behaves as on its page."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from documented import PAGES, ROOT, follow, surroundings
from netwarp.kernels import cache_directory

LIMIT_S = 7200.0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_do_what_it_says(page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a copy of the present kernels, so that the names of a page replace no other kernel.

    Without the trees of named builds, which are gigabytes: a page that builds a kernel begins with its source.
    """
    (place := tmp_path / "empty").mkdir()
    without_trees = shutil.ignore_patterns("trees")
    shutil.copytree(cache_directory(), tmp_path / "cache" / "netwarp" / "kernels", symlinks=True, ignore=without_trees)
    environment = surroundings(tmp_path) | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    wrong = []
    for one in follow(page, place, nightly=True, environment=environment, limit_s=LIMIT_S):
        with capsys.disabled():
            print(one, flush=True)
        wrong += [str(one)] if one.wrong else []
    assert not wrong
