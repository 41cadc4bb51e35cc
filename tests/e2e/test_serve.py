"""Results in a browser during and after a run; the server allows only reading."""

from __future__ import annotations

import http.client
import json
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from e2e_command import netwarp
from e2e_scenarios import dumbbell
from playwright.sync_api import Browser, Page, expect

HOSTILE = "<img src=x onerror=alert(1)>"
LAB = (
    dumbbell(rate="10mbit", delay="10ms", queue="pfifo limit 20", duration="4s")
    + f"""
[[cases]]
name = {json.dumps(HOSTILE)}
set = {{}}
[[cases]]
name = "refused"
set = {{ "links.bottleneck.queue" = "pfifo limmit 3" }}
[[expect]]
metric = "flow.goodput_mbps"
where = {{ case = {json.dumps(HOSTILE)} }}
min = 1
"""
)
SEEDS = 6
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: errors.append(dialog.message))
    yield page
    page.close()
    assert errors == []


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with one result, half of whose runs failed."""
    root = tmp_path_factory.mktemp("results")
    (root / "lab.toml").write_text(LAB)
    answer = netwarp("run", root / "lab.toml", "-o", root / "a lab", "--seeds", "2", "--no-plots")
    assert answer.code == 3, answer.err
    return root


@pytest.fixture
def served(results: Path, start: Start) -> str:
    """The address of a server of `results`."""
    return _address(start("serve", results))


def _address(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    return server.stdout.readline().strip()


def _get(address: str, path: str, method: str = "GET", **headers: str) -> tuple[int, str]:
    host = address.removeprefix("http://").partition("/")[0]
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.request(method, path, headers={"Host": host} | headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode(errors="replace")


def _cookie(address: str) -> dict[str, str]:
    port = address.rpartition(":")[2].partition("/")[0]
    return {"Cookie": f"netwarp_token_{port}={address.partition('token=')[2]}"}


def test_the_plan_fills_up_before_ones_eyes(tmp_path: Path, start: Start, page: Page) -> None:
    (tmp_path / "lab.toml").write_text(LAB.replace('"4s"', '"40s"'))
    run = start("run", tmp_path / "lab.toml", "-o", tmp_path / "out", "--seeds", str(SEEDS), "--serve", "--no-plots")
    assert run.stderr is not None
    said = next(line for line in run.stderr if line.startswith("watch it at "))
    page.goto(said.split()[-1])
    expect(page.locator("#state .headline")).to_contain_text("of 12 runs", timeout=60_000)
    assert "token" not in page.url
    expect(page.locator("#plan .cell.is-ok").first).to_be_visible(timeout=60_000)
    cells = page.locator("#plan .cell")
    assert cells.count() == 2 * SEEDS
    counts = [page.locator("#plan .cell.is-ok, #plan .cell.is-failed").count()]
    expect(page.locator("#failures")).to_contain_text("limmit", timeout=60_000)
    counts.append(page.locator("#plan .cell.is-ok, #plan .cell.is-failed").count())
    assert counts == sorted(counts)
    run.communicate(timeout=120)
    assert run.returncode == 3
    expect(page.locator("#gone")).to_be_visible(timeout=30_000)


def test_a_finished_result_can_be_browsed(served: str, results: Path, page: Page) -> None:
    page.goto(served)
    expect(page.locator("#results tbody tr")).to_have_count(1)
    expect(page.locator("#results")).to_contain_text("4 of 4")
    page.get_by_role("link", name="a lab").click()
    expect(page.locator("#state")).to_contain_text("4 of 4 runs made")
    expect(page.locator("#failures")).to_contain_text("2 runs failed")
    expect(page.locator("#tables")).to_contain_text("What the scenario expects")
    expect(page.locator("#plan")).to_contain_text(HOSTILE)
    page.locator("#plan a.is-ok").first.click()
    run_id = page.url.rpartition("/")[2]
    assert (results / "a lab" / "runs" / run_id).is_dir()
    expect(page.locator("h1")).to_contain_text(f"run {run_id}")
    expect(page.locator("#panels canvas").first).to_be_visible()
    page.locator("header a").click()
    page.get_by_role("link", name="Report of all runs").click()
    expect(page.locator("#verdict")).to_contain_text("2 runs failed")


def test_a_sorted_table_stays_sorted(served: str, page: Page) -> None:
    page.goto(served)
    page.get_by_role("link", name="a lab").click()
    head = page.locator("#tables th .sort").nth(1)
    head.click()
    page.wait_for_timeout(2500)  # the page checks for changes twice
    expect(page.locator("#tables th[aria-sort]")).to_have_count(1)


def test_nothing_is_written(results: Path, start: Start) -> None:
    before = {path: path.lstat().st_mtime_ns for path in results.rglob("*")}
    address = _address(start("serve", results))
    planned = json.loads((results / "a lab" / "plan.json").read_text())["runs"]
    paths = ["/", "/results/a%20lab/", "/results/a%20lab/parts", "/results/a%20lab/report"]
    paths += [f"/results/a%20lab/runs/{run['id']}" for run in planned]
    for path in paths:
        code, text = _get(address, path, **_cookie(address))
        assert code == 200, (path, text)
    assert {path: path.lstat().st_mtime_ns for path in results.rglob("*")} == before


@pytest.mark.parametrize("path", ["/", "/parts", "/results/a%20lab/", "/results/a%20lab/report", "/nothing"])
def test_without_the_token_nothing_is_shown(served: str, path: str) -> None:
    assert _get(served, path)[0] == 403
    assert _get(served, f"{path}?token=wrong")[0] == 403
    assert _get(served, path, Cookie=_cookie(served)["Cookie"][:-1])[0] == 403


def test_another_name_of_this_host_is_refused(served: str) -> None:
    """A page of another site could make its name point here (DNS rebinding)."""
    for path in ("/", "/assets/serve.js"):
        assert _get(served, path, **_cookie(served), Host="evil.example")[0] == 421


@pytest.mark.parametrize("name", ["localhost:99999999", "localhost:-1", "localhost:x", "[::1", "a" * 3000])
def test_a_name_that_is_none_is_refused(served: str, name: str) -> None:
    for path in ("/", "/assets/serve.js", "/results/a%20lab/"):
        assert _get(served, path, **_cookie(served), Host=name)[0] in (400, 421)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_it_is_read_only(served: str, method: str) -> None:
    assert _get(served, "/results/a%20lab/", method, **_cookie(served))[0] == 405


@pytest.mark.parametrize(
    "path",
    [
        "/results/../../../../etc/passwd",
        "/results/%2e%2e%2f%2e%2e%2fetc/",
        "/results//etc/",
        "/results/a%20lab/runs/..%2f..",
        "/results/a%20lab/runs/0000",
        "/results/a%20lab/figures/..%2fplan.json",
        "/results/a%20lab/figures/secret.png",
        "/assets/..%2fserver.py",
        "/%00",
    ],
)
def test_no_address_leads_out(results: Path, served: str, path: str) -> None:
    plots = results / "a lab" / "plots"
    plots.mkdir(exist_ok=True)
    link = plots / "secret.png"
    link.unlink(missing_ok=True)
    link.symlink_to("/etc/hostname")
    try:
        code, text = _get(served, path, **_cookie(served))
    finally:
        link.unlink()
        plots.rmdir()
    assert code == 404, text
    assert "root:" not in text


def test_it_listens_on_the_loopback_alone(served: str) -> None:
    port = int(served.rpartition(":")[2].partition("/")[0])
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    listening = [
        line.split()[1] for line in lines if line.split()[3] == "0A" and line.split()[1].endswith(f":{port:04X}")
    ]
    assert listening == [f"0100007F:{port:04X}"]


@pytest.mark.parametrize("file", ["metrics.parquet", "status.json", "acks.arrows", "run.json"])
def test_damaged_results_are_said_to_be(results: Path, tmp_path: Path, start: Start, file: str) -> None:
    shutil.copytree(results, tmp_path / "copy")
    run = next(path.parent for path in (tmp_path / "copy").glob("*/runs/*/metrics.parquet"))
    content = (run / file).read_bytes()
    (run / file).write_bytes(content[: len(content) // 2])
    server = start("serve", tmp_path / "copy")
    address = _address(server)
    answers = [
        _get(address, f"/results/a%20lab/{page}", **_cookie(address)) for page in ("", "report", f"runs/{run.name}")
    ]
    assert any(run.name in text or "cannot read" in text for code, text in answers if code == 500), answers
    assert not any("Traceback" in text for _, text in answers)
    assert _get(address, "/", **_cookie(address))[0] == 200
    server.send_signal(signal.SIGINT)
    _, err = server.communicate(timeout=60)
    assert "Traceback" not in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_asked(results: Path, start: Start, number: signal.Signals) -> None:
    server = start("serve", results)
    address = _address(server)
    server.send_signal(number)
    out, err = server.communicate(timeout=60)
    assert (server.returncode, out, err) == (0, "", "")
    with pytest.raises(ConnectionRefusedError):
        _get(address, "/")


def test_what_is_wrong_is_said(results: Path, tmp_path: Path) -> None:
    answer = netwarp("serve", tmp_path / "nothing")
    assert answer.code == 2
    assert "is not a directory" in answer.words
    answer = netwarp("serve", results, "--port", "70000")
    assert answer.code == 2
    assert "--port" in answer.words
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        answer = netwarp("serve", results, "--port", str(taken.getsockname()[1]))
    assert answer.code == 4
    assert "cannot listen on port" in answer.words


def test_a_directory_without_results_says_how_to_make_one(tmp_path: Path, start: Start) -> None:
    address = _address(start("serve", tmp_path))
    code, text = _get(address, "/", **_cookie(address))
    assert code == 200
    assert "netwarp run SCENARIO" in text
