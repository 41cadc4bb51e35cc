"""Damaged results, or those of others: nothing outside them is touched, and nothing crashes."""

import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from mutate import damage
from netwarp.analysis.run.run_metrics import compute_metrics
from netwarp.common.terminal import Terminal
from netwarp.store.digests import write_digests
from netwarp.store.errors import StoreError
from netwarp.store.files import make_folder, read_json, write_atomic, write_text
from netwarp.store.lock import locked
from netwarp.store.result import open_result, open_verified
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import RunDir
from repetitions import repeated
from rich.table import Table
from synthetic import write_run

PLAN = {"name": "n", "axes": [], "runs": [{"id": "aa", "seed": 1, "point": {}}]}


def result_with(place: Path, plan: object) -> Path:
    (place / "runs").mkdir(parents=True)
    (place / "plan.json").write_text(json.dumps(plan))
    return place


@pytest.mark.parametrize("run_id", ["../../elsewhere", "/etc", "a/b", "..", "", "a\nb", "x" * 65])
def test_a_run_id_is_never_a_path(tmp_path: Path, run_id: str) -> None:
    plan = PLAN | {"runs": [{"id": run_id, "seed": 1, "point": {}}]}
    with pytest.raises(StoreError, match=r"plan\.json: runs\.0\.id"):
        _ = open_result(result_with(tmp_path / "r", plan)).planned


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe{}",
        b"[" * 200_000,
        b'{"runs": [{"id": "aa", "seed": NaN}]}',
        b'{"runs": [{"id": "aa", "seed": 1e400}]}',
        b'{"runs": [{"id": "aa", "seed": 99999999999999999999}]}',
        b'{"runs": {"aa": 1}}',
        b'{"runs": [{"id": "aa", "seed": 1, "point": 7}]}',
        b'{"name": {"a": 1}, "runs": []}',
        b"{}",
        b"",
    ],
)
def test_odd_plans_are_refused_with_a_sentence(tmp_path: Path, content: bytes) -> None:
    place = result_with(tmp_path / "r", PLAN)
    (place / "plan.json").write_bytes(content)
    with pytest.raises(StoreError, match=r"plan\.json"):
        _ = open_result(place).planned


@pytest.mark.parametrize("case", ["ok\n✓ forged", "=HYPERLINK(1)", "-1", "\x1b[2J"])
def test_a_case_of_a_result_can_forge_nothing(tmp_path: Path, case: str) -> None:
    plan = PLAN | {"runs": [{"id": "aa", "seed": 1, "point": {}, "case": case}]}
    with pytest.raises(StoreError, match=r"plan\.json: runs\.0\.case"):
        _ = open_result(result_with(tmp_path / "r", plan)).planned


@pytest.mark.parametrize("field", ["source", "id", "start_ns", "name", "tool"])
@pytest.mark.parametrize("value", [None, [], {"a": 1}, -1.5, "no address/", 2**70])
def test_odd_values_in_the_description_are_refused_or_read(tmp_path: Path, field: str, value: object) -> None:
    write_run(tmp_path)
    run = json.loads((tmp_path / "run.json").read_text())
    run["lab"]["flows"][0][field] = value
    (tmp_path / "run.json").write_text(json.dumps(run))
    if field == "tool" and isinstance(value, str):
        assert RunDir(tmp_path).description.flows[0].tool == value
        return
    with pytest.raises(StoreError, match=rf"lab\.flows\.0\.{field}"):
        _ = RunDir(tmp_path).description


def test_a_change_of_what_no_link_has_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path)
    run = json.loads((tmp_path / "run.json").read_text())
    run["lab"]["changes"] = [{"at_ns": 1, "index": 999, "wire": None}]
    (tmp_path / "run.json").write_text(json.dumps(run))
    with pytest.raises(StoreError, match="interface 999, which no link has"):
        _ = RunDir(tmp_path).description


def test_the_lock_is_not_taken_through_a_link(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("keep me")
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / ".lock").symlink_to(precious)
    with pytest.raises(StoreError, match="symbolic link"), locked(tmp_path / "r"):
        pass
    assert precious.read_text() == "keep me"


def test_folders_and_files_are_not_written_through_links(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("keep me")
    inside = tmp_path / "r"
    inside.mkdir()
    (inside / "plots").symlink_to(outside)
    (inside / "report.html").symlink_to(outside / "file")
    with pytest.raises(StoreError, match="symbolic link"):
        make_folder(inside / "plots")
    write_text(inside / "report.html", "new")
    assert (outside / "file").read_text() == "keep me"
    assert (inside / "report.html").read_text() == "new"
    assert not (inside / "report.html").is_symlink()


def test_a_path_is_not_a_pattern(tmp_path: Path) -> None:
    schema = {"scope": ["run"], "name": [""], "metric": ["m"], "value": [1.0]}
    for name in ("xy", "x?", "x[y]", "x*"):
        (tmp_path / name).mkdir()
        pl.DataFrame(schema | {"name": [name]}).write_parquet(tmp_path / name / "metrics.parquet")
    for name in ("x?", "x[y]", "x*"):
        assert RunDir(tmp_path / name).metrics()["name"].to_list() == [name]


@pytest.mark.parametrize("cut", [0, 3, 4, 100, -1, -8, -100])
def test_damaged_parquet_is_an_error_message(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "metrics.parquet"
    pl.DataFrame(
        {"scope": ["a"] * 500, "name": ["b"] * 500, "metric": ["c"] * 500, "value": [1.0] * 500}
    ).write_parquet(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    with pytest.raises(StoreError, match=r"metrics\.parquet"):
        RunDir(tmp_path).metrics()
    path.write_bytes(whole.replace(b"metric", b"mettic"))
    with pytest.raises(StoreError, match=r"metrics\.parquet"):
        RunDir(tmp_path).metrics()


def test_metadata_that_is_no_text_is_no_matter(tmp_path: Path) -> None:
    columns = {"scope": ["run"], "name": [""], "metric": ["m"], "value": [1.0]}
    field = pa.field("value", pa.float64(), metadata={b"\x93": b"\x93"})
    schema = pa.schema([*(pa.field(name, pa.string()) for name in list(columns)[:3]), field], {b"ARRO\x93": b"\xff"})
    pq.write_table(pa.table(columns, schema=schema), tmp_path / "metrics.parquet")
    assert RunDir(tmp_path).metrics()["value"].to_list() == [1.0]


@pytest.mark.slow
@pytest.mark.parametrize("bits", [0xFF, 0x01, 0x80])
def test_no_byte_of_a_table_of_records_can_end_the_process(tmp_path: Path, bits: int) -> None:
    """Every byte of a small table, changed in a separate process: it is read or refused; no signal ends the process."""
    write_run(tmp_path)
    program = """
import sys
from pathlib import Path
from netwarp.store.errors import StoreError
from netwarp.store.rundir import RunDir
place, bits = Path(sys.argv[1]), int(sys.argv[2])
file = place / "tuples.arrows"
whole = file.read_bytes()
read = refused = 0
for at in range(len(whole)):
    file.write_bytes(whole[:at] + bytes([whole[at] ^ bits]) + whole[at + 1:])
    try:
        repr(RunDir(place).scan("tuples").collect().rows())
        read += 1
    except StoreError:
        refused += 1
    except BaseException as error:
        if "StoreError" not in repr(error):
            raise
        refused += 1
assert read and refused
print(read, refused)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path), str(bits)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])


def test_a_changed_record_is_found_by_its_digest(tmp_path: Path) -> None:
    place = result_with(tmp_path / "r", PLAN)
    write_run(place / "runs" / "aa")
    write_digests(place / "runs" / "aa")
    assert open_verified(place).planned[0].id == "aa"
    table = place / "runs" / "aa" / "tuples.arrows"
    content = bytearray(table.read_bytes())
    content[-20] ^= 1
    table.write_bytes(content)
    with pytest.raises(StoreError, match=r"runs/aa/tuples\.arrows changed"):
        open_verified(place)


def test_a_digest_of_a_file_elsewhere_is_refused(tmp_path: Path) -> None:
    place = result_with(tmp_path / "r", PLAN)
    write_run(place / "runs" / "aa")
    (place / "runs" / "aa" / "digests.json").write_text(json.dumps({"../../../secret": "0"}))
    (tmp_path / "secret").write_text("s")
    with pytest.raises(StoreError, match="outside itself"):
        open_verified(place)


@pytest.fixture(scope="session")
def analysed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result of one run with metrics; tests change a copy of it."""
    place = result_with(tmp_path_factory.mktemp("analysed") / "r", PLAN)
    run = place / "runs" / "aa"
    write_run(run)
    compute_metrics(RunDir(run))
    RunDir(run).write_status(RunStatus.OK, None)
    return place


@pytest.fixture
def whole(analysed: Path, tmp_path: Path) -> Path:
    """A copy of the analysed result."""
    return Path(shutil.copytree(analysed, tmp_path / "r"))


def read_all(place: Path) -> None:
    """Read everything that commands on results read."""
    result = open_verified(place)
    for outcome in result.outcomes():
        run = result.run(outcome.run.id)
        run.metrics_computed_by()
        compute_metrics(run)


@pytest.mark.parametrize(
    "name",
    [
        "plan.json",
        "runs/aa/run.json",
        "runs/aa/status.json",
        "runs/aa/metrics.parquet",
        "runs/aa/acks.arrows",
        "runs/aa/packets.arrows",
        "runs/aa/tuples.arrows",
        "runs/aa/digests.json",
    ],
)
@pytest.mark.parametrize("kind", ["fifo", "zero", "kmsg", "directory", "loop", "huge"])
@pytest.mark.slow
def test_a_path_that_is_not_a_file_is_an_error_message(whole: Path, name: str, kind: str) -> None:
    file = whole / name
    file.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "directory":
        file.mkdir()
    elif kind == "huge":
        with file.open("wb") as opened:
            opened.truncate(1 << 41)
    else:
        file.symlink_to({"zero": "/dev/zero", "kmsg": "/proc/kmsg", "loop": file.name}[kind])
    try:
        read_all(whole)
    except StoreError as error:
        assert file.name in str(error) or "plan.json" in str(error)
    else:
        assert name != "plan.json"


@pytest.mark.slow
@pytest.mark.parametrize("seed", repeated(40))
def test_no_damage_to_a_document_is_a_fault(whole: Path, seed: int) -> None:
    rng = random.Random(seed)
    damage(whole / rng.choice(["plan.json", "runs/aa/run.json", "runs/aa/run.json", "runs/aa/status.json"]), rng)
    try:
        read_all(whole)
    except StoreError as error:
        assert 0 < len(str(error)) < 2_000


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("duration_ns", 2**62),
        ("duration_ns", -1),
        ("links", [{"name": "l", "ends": [{"node": "a", "index": 1, "wire": {"rate_bps": 2**62}}] * 2}]),
        ("links", [{"name": "l", "ends": [{"node": "a", "index": 1, "wire": {"loss": {"model": "random"}}}] * 2}]),
        ("links", [{"name": "l", "ends": [{"node": "a", "index": 1, "opportunities": {"trace": "1xx2"}}] * 2}]),
        ("changes", [{"at_ns": 2**62, "index": 1}]),
    ],
)
def test_times_and_quantities_of_a_lab_are_those_of_a_run(whole: Path, field: str, value: object) -> None:
    run = json.loads((whole / "runs" / "aa" / "run.json").read_text())
    run["lab"][field] = value
    (whole / "runs" / "aa" / "run.json").write_text(json.dumps(run))
    with pytest.raises(StoreError, match=rf"run\.json: lab\.{field}"):
        _ = RunDir(whole / "runs" / "aa").description


def test_a_document_of_more_values_than_memory_holds_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{"a": [' + b"[]," * 6_000_000 + b"[]]}")
    with pytest.raises(StoreError, match="more than 10,000,000 values"):
        read_json(tmp_path / "a.json")


def test_json_that_is_no_object(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[]")
    with pytest.raises(StoreError, match="object"):
        read_json(tmp_path / "a.json")


def test_the_terminal_shows_what_it_must_not_obey() -> None:
    out = io.StringIO()
    terminal = Terminal(file=out, force_terminal=True, width=60)
    table = Table("a\x1b[2Jb")
    table.add_row("[/]\x1b]0;title\x07", style="red")
    terminal.print(table)
    terminal.print("[bold]plain\x9b31m", style="green")
    text = out.getvalue()
    assert "\x1b[2J" not in text
    assert "\x07" not in text
    assert "\x9b" not in text
    assert "␛[2J" in text
    assert "[/]" in text
    assert "[bold]plain" in text
    assert "\x1b[32m" in text, "styles of netwarp's own are still sent"


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["list"], ["show", "bufferbloat"]])
def test_a_closed_pipe_is_not_a_verdict(arguments: list[str]) -> None:
    command = [sys.executable, str(Path(sys.executable).parent / "netwarp"), *arguments]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False, timeout=120)
    os.close(writer)
    assert done.returncode == 128 + signal.SIGPIPE
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux's device that is always full")
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_full_disk_is_an_error_message(tmp_path: Path, kind: str) -> None:
    frame = pl.DataFrame({"a": range(100_000)})

    def write(_path: Path) -> None:
        (frame.write_parquet if kind == "parquet" else frame.write_csv)(Path("/dev/full"))

    with pytest.raises(StoreError, match=rf"cannot write .*summary\.{kind}: the disk is full"):
        write_atomic(tmp_path / f"summary.{kind}", write)
