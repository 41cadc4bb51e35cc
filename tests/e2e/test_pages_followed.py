"""Every command of README.md and docs/ behaves as on its page; tests/nightly runs those that take minutes."""

from __future__ import annotations

from pathlib import Path

import pytest
from documented import PAGES, ROOT, Block, Command, blocks_of, follow, skipped, surroundings
from e2e_nights import parameters

LIMIT_S = 120.0
"""A hang must end the tests; no working command comes near this."""
LONG = {"ab", "compare", "energy", "explain", "figures", "gallery", "modules", "suites", "testing", "verify"}
"""Pages whose commands take a quarter of a minute and more, each also tested by itself; `make nightly` follows them."""


@pytest.mark.parametrize(
    "page",
    parameters(PAGES, lambda page: page.stem in LONG),
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_the_commands_of_a_page_do_what_it_says(page: Path, tmp_path: Path) -> None:
    place = tmp_path / "empty"
    place.mkdir()
    done = list(follow(page, place, nightly=False, environment=surroundings(tmp_path), limit_s=LIMIT_S))
    print(*done, sep="\n")
    assert not [str(one) for one in done if one.wrong]


@pytest.mark.parametrize(
    ("block", "command", "reason"), skipped(), ids=lambda value: value.place if isinstance(value, Block) else ""
)
def test_what_is_not_run_has_a_reason(block: Block, command: Command, reason: str) -> None:
    assert len(reason.split()) > 2, f"{block.place}: say why"
    pytest.skip(f"{block.place}: {command.text.splitlines()[0]}: {reason}")


def test_every_command_is_known() -> None:
    """Blocks without commands have a language, so that none is left out by mistake."""
    assert sum(len(block.commands()) for page in PAGES for block in blocks_of(page)) > 100
