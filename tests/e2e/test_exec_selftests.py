"""Kernel selftests that end soon, as `python -m bench.selftests` runs all of them: each passes, twice the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.selftests import TESTS, run_twice, unpack

FAST = (
    *("fq_band_pktlimit.sh", "icmp.sh", "ip6_gre_headroom.sh", "reuseaddr_ports_exhausted.sh"),
    pytest.param("txtimestamp.sh", marks=pytest.mark.nightly),
)


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The selftests of the kernels' source."""
    return unpack(tmp_path_factory.mktemp("source"))


@pytest.mark.parametrize("file", FAST)
def test_a_kernel_selftest(file: str, net: Path, tmp_path: Path) -> None:
    (test,) = (test for test in TESTS if test.file == file)
    outcome = run_twice(test, net, tmp_path)
    assert (outcome.verdict, outcome.repeated) == ("pass", True)
