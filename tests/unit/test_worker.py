"""Exchange between a Dask worker and the client: files by their names, and reasons for not using a worker."""

from pathlib import Path

import pytest
from netwarp.execute.worker import DamagedError, WorkerIdentity, pack, unpack
from netwarp.execute.worker_pool import complaint

HERE = {"kernel": "1", "agent": "2", "tc": "3", "program iperf3": "4", "netwarp": "5"}


def test_what_is_packed_is_unpacked(tmp_path: Path) -> None:
    made = tmp_path / "made"
    (made / "captures").mkdir(parents=True)
    (made / "captures" / "a.pcap").write_bytes(bytes(range(256)))
    (made / "empty").write_bytes(b"")
    back = tmp_path / "back"
    back.mkdir()
    unpack(pack(made), back)
    found = {path.relative_to(back).as_posix(): path.read_bytes() for path in back.rglob("*") if path.is_file()}
    assert found == {"captures/a.pcap": bytes(range(256)), "empty": b""}


@pytest.mark.parametrize("name", ["../out", "/tmp/netwarp-out", "a/../../out"])
def test_nothing_is_written_elsewhere(tmp_path: Path, name: str) -> None:
    back = tmp_path / "back"
    back.mkdir()
    with pytest.raises(DamagedError, match="would not be in"):
        unpack({name: b"x"}, back)
    assert [path.name for path in tmp_path.iterdir()] == ["back"]


@pytest.mark.parametrize(
    ("other", "output"),
    [
        ({}, None),
        (
            {"agent": "x"},
            "its agent differs from this one; copy this one there: `rsync -a --mkpath /a/agent there:/b/agent`",
        ),
        ({"program iperf3": "x"}, "its iperf3 is not the one here; install the same version there"),
        (
            {"program iperf3": "x", "tc": "x"},
            "its iperf3 and its tc are not those here; install the same version there",
        ),
        ({"program /usr/bin/env": "x"}, "its /usr/bin/env is not the one here; install the same version there"),
        (
            {"program /home/u/gen.py": "x"},
            "its /home/u/gen.py is not the one here; copy it there: "
            "`rsync -a --mkpath /home/u/gen.py there:/home/u/gen.py`",
        ),
    ],
)
def test_the_report_on_a_worker_that_differs_has_the_fix(other: dict[str, str], output: str | None) -> None:
    here = WorkerIdentity(HERE, "0.1", {"agent": "/a/agent", "kernel": "/a/kernels/1"})
    there = WorkerIdentity(HERE | other, "0.1", {"agent": "/b/agent", "kernel": "/b/kernels/1"})
    assert complaint(there, here, "there") == output


def test_the_report_on_a_worker_without_a_part_says_where_to_copy_it() -> None:
    here = WorkerIdentity(HERE, "0.1", {"agent": "/a/agent", "kernel": "/a/kernels/1"})
    there = WorkerIdentity({"netwarp": "5"}, "0.1", {"kernel": "/b/kernels/"}, "the kernel is missing", "kernel")
    fix = "`rsync -a --mkpath /a/kernels/1 there:/b/kernels/`"
    assert complaint(there, here, "there") == f"the kernel is missing; copy it there: {fix}"
