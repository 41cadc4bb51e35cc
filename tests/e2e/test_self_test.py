"""`netwarp self-test` on the real kernel: the digests that ship are those of the present netwarp."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from e2e_command import netwarp, succeed
from netwarp.steps.self_test import DIGESTS, NETWORK, Verdict
from netwarp.store.schemas import TABLES

from tools.self_test import digests, other_versions


def test_this_installation_makes_the_records_that_ship_with_it() -> None:
    """If this fails after a change of labs' behaviour, of the agent or of a table: make digests."""
    if found := list(other_versions()):
        pytest.skip(f"the digests are those of the wheels: {'; '.join(found)}")
    done = succeed("self-test")
    assert done.out.count("✓") == 2, done.out
    assert "have the bytes that they should have" in done.out
    written, made = json.loads(DIGESTS.read_text()), digests()
    assert made["records"] == written["records"], "no file is missing from the digests"
    lab = json.loads(netwarp("self-test", "--json").out)
    assert (lab["ok"], lab["unknown"], [one["verdict"] for one in lab["labs"]]) == (True, [], [Verdict.SAME] * 2)


def test_the_network_has_some_of_every_record() -> None:
    tables = {name.removesuffix(".arrows") for name in json.loads(DIGESTS.read_text())["records"][NETWORK]}
    assert {"packets", "acks", "drops", "sockets", "datagrams", "pings", "flows", "interfaces"} <= tables & set(TABLES)


@pytest.mark.nightly
def test_other_bytes_and_a_kernel_without_digests_are_reported(tmp_path: Path) -> None:
    """In a copy of netwarp whose digests are others."""
    import shutil

    import netwarp as package

    copy = tmp_path / "netwarp"
    shutil.copytree(Path(package.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    file = copy / DIGESTS.relative_to(Path(package.__file__).parent)
    shipped = json.loads(file.read_text())
    paths = {"PYTHONPATH": str(tmp_path)}

    shipped["records"][NETWORK]["acks.arrows"] = "0" * 64
    file.write_text(json.dumps(shipped))
    done = netwarp("self-test", env=paths)
    if "There are no digests" not in done.out:
        assert done.code == 1
        assert "other bytes than they should be, the same in two runs: acks.arrows" in done.out
        assert "Does not work as it should" in done.out

    shipped["made_with"]["kernel_source"] = "0" * 64
    file.write_text(json.dumps(shipped))
    done = netwarp("self-test", env=paths)
    assert done.code == 0, done.out + done.err
    assert "its kernel is compiled from another source" in done.out
    assert done.out.count("have the same bytes in two runs") == 1
