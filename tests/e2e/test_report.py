"""The page of a result in a real browser: its text and drawings, its controls, and that it requests nothing."""

from __future__ import annotations

import csv
import io
import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import pytest
from e2e_command import netwarp
from playwright.sync_api import Browser, Locator, Page, Route

HOSTILE = "<script>document.title = 'owned'</script>"
WORSE = '"><img src=http://example.org/x.png onerror="document.title = 1"> $\\frac$ </script>'
ABOUT = f"{HOSTILE} & {{{{ 7 * 7 }}}}"
SCENARIO = f"""
name = "page"
summary = {json.dumps(ABOUT)}
duration = "5s"
warmup = "500ms"
[nodes]
h1 = {{}}
r1 = {{ forward = true }}
h2 = {{}}
[links.access]
ends = ["h1", "r1"]
rate = "1gbit"
[links.bottleneck]
ends = ["r1", "h2"]
rate = "10mbit"
delay = "10ms"
queue = "pfifo limit 20"
[flows.bulk]
from = "h1"
to = "h2"
tool = "bulk"
[flows.ping]
from = "h1"
to = "h2"
tool = "ping"
"""
RICH = (
    SCENARIO
    + f"""
[[changes]]
at = "2s"
link = "bottleneck"
rate = "5mbit"
[[cases]]
name = {json.dumps(HOSTILE)}
set = {{}}
[[cases]]
name = {json.dumps(WORSE)}
set = {{ "flows.bulk.cc" = "reno" }}
[sweep]
"links.bottleneck.delay" = ["10ms", "20ms"]
[[expect]]
metric = "flow.goodput_mbps"
where = {{ name = "bulk" }}
min = 1
[[expect]]
metric = "flow.goodput_mbps"
where = {{ name = "bulk", case = {json.dumps(HOSTILE)} }}
min = 100
"""
)
UNEVEN = (
    SCENARIO
    + """
[[cases]]
name = "fine"
set = {}
[[cases]]
name = "refused"
set = { "links.bottleneck.queue" = "pfifo limmit 3" }
[[cases]]
name = "small window"
set = { "links.bottleneck.delay" = "200ms", "nodes.h2.sysctl" = { "net.ipv4.tcp_moderate_rcvbuf" = 0 } }
"""
)
PHONE = {"width": 360, "height": 740}


@dataclass
class Opened:
    """A page in the browser, its external requests, and its console's messages."""

    page: Page
    asked: list[str] = field(default_factory=list)
    output: list[str] = field(default_factory=list)

    def saved(self, button: Locator) -> bytes:
        """The file that a click on a button downloads."""
        with self.page.expect_download() as download:
            button.click()
        return Path(download.value.path()).read_bytes()


class Opener:
    """Opens result pages, each in its own context, and checks at the end that they requested nothing."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._opened: list[Opened] = []

    def __call__(self, result: Path, **options: object) -> Opened:
        context = self._browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))  # type: ignore[arg-type]
        opened = Opened(context.new_page())
        self._opened.append(opened)
        address = (result / "report.html").resolve().as_uri()

        def only_the_page(route: Route) -> None:
            if route.request.url.partition("#")[0] == address or route.request.url.startswith(("blob:", "data:")):
                route.continue_()
            else:
                opened.asked.append(route.request.url)
                route.abort()

        context.route("**/*", only_the_page)
        opened.page.on("console", lambda message: opened.output.append(f"{message.type}: {message.text}"))
        opened.page.on("pageerror", lambda error: opened.output.append(str(error)))
        opened.page.goto(address)
        return opened

    def close(self) -> None:
        for opened in self._opened:
            assert opened.asked == []
            assert opened.output == []
            opened.page.context.close()


@pytest.fixture
def opener(browser: Browser) -> Iterator[Opener]:
    made = Opener(browser)
    yield made
    made.close()


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two cases by two delays by two seeds, with hostile names, an expectation that is met and one that fails."""
    place = tmp_path_factory.mktemp("rich")
    (place / "scenario.toml").write_text(RICH)
    made = netwarp("run", place / "scenario.toml", "-o", place / "result", "--no-plots", "--seeds", "2")
    assert made.code == 1, made.err
    assert not (place / "result" / "report.html").exists()
    reported = netwarp("report", place / "result")
    assert reported.code == 1, reported.err
    assert f"page: {place / 'result' / 'report.html'}" in reported.words
    return place / "result"


INKED = """canvas => {
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [canvas.width, canvas.height];
    const context = copy.getContext("2d", { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    const { data } = context.getImageData(0, 0, copy.width, copy.height);
    const spread = (i) => Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]);
    let count = 0;
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 200 && spread(i) > 40) count++;
    return count;
}"""


def inked(canvas: Locator) -> int:
    """Number of coloured pixels of a canvas: those of lines, not of axes, which are grey."""
    return int(canvas.evaluate(INKED))


def test_what_it_says_first(rich: Path, opener: Opener) -> None:
    page = opener(rich).page
    assert page.title() == "page · netwarp"
    assert page.locator("h1").inner_text() == "page"
    assert page.locator("header .about").inner_text() == ABOUT
    assert "1 of 2 expectations failed" in page.locator("#verdict h2").inner_text()
    assert page.locator("#verdict .judged .is-met").count() == page.locator("#verdict .judged .is-failed").count() == 1
    drawn = page.locator("#setup svg:visible")
    assert drawn.count() == 1
    words = drawn.text_content() or ""
    assert all(word in words for word in ("h1", "r1", "h2", "10 Mbit/s", "pfifo limit 20", "delay: 2 values"))
    assert page.locator("#results table tbody tr").count() == 8  # points by flows
    first = page.locator("#results table tbody tr").first.locator("td").nth(3)
    assert "…" in first.locator("small").inner_text()
    again = page.locator("#again")
    assert "--seeds 2" in again.inner_text()
    assert "kernel, SHA-256" in again.inner_text()


def test_panels_draw_toggle_and_zoom_together(rich: Path, opener: Opener) -> None:
    page = opener(rich).page
    canvases = page.locator("#time canvas")
    assert canvases.count() == 4  # goodput, RTT, window, queue
    before = [inked(canvases.nth(n)) for n in range(4)]
    assert min(before) > 300, before

    chip = page.locator(".chip", has_text="20ms")
    chip.click()
    assert chip.get_attribute("aria-pressed") == "false"
    page.wait_for_timeout(50)
    fewer = [inked(canvases.nth(n)) for n in range(4)]
    assert all(0 < now < then for now, then in zip(fewer, before, strict=True)), (before, fewer)
    chip.press("Enter")
    page.wait_for_timeout(50)
    assert [inked(canvases.nth(n)) for n in range(4)] == before

    over = page.locator("#time .u-over")
    over.nth(1).scroll_into_view_if_needed()
    box = over.nth(1).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 50)
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 50)
    readouts = page.locator("#time .readout")
    assert _times(readouts) == pytest.approx([2.5] * 4, abs=0.01)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 50, steps=4)
    page.mouse.up()
    page.wait_for_timeout(50)
    zoomed = [inked(canvases.nth(n)) for n in range(4)]
    assert all(now != then for now, then in zip(zoomed, before, strict=True))
    page.mouse.move(box["x"] + 1, box["y"] + 60)
    assert _times(readouts) == pytest.approx([2.5] * 4, abs=0.02)
    page.locator('[data-zoom="Show the whole run"]').click()
    page.mouse.move(0, 0)
    page.wait_for_timeout(50)
    assert [inked(canvases.nth(n)) for n in range(4)] == before

    plot = page.locator("#time .plot").nth(2)
    plot.focus()
    plot.press("+")
    plot.press("ArrowRight")
    assert _times(readouts) == pytest.approx([2.525] * 4, abs=0.01)


def _times(readouts: Locator) -> list[float]:
    return [float(readouts.nth(n).locator("b").first.inner_text().removesuffix(" s")) for n in range(4)]


def test_what_is_compared_can_be_chosen(rich: Path, opener: Opener) -> None:
    page = opener(rich).page
    page.get_by_role("combobox", name="Compare").select_option("case")
    assert page.locator("#time .chips").first.locator(".chip").all_inner_texts() == [
        HOSTILE,
        WORSE,
    ]
    page.get_by_role("combobox", name="bottleneck delay").select_option("20ms")
    assert inked(page.locator("#time canvas").nth(2)) > 300
    assert "4 runs with other seeds" in page.locator("#time").inner_text()
    assert "2 s bottleneck: rate 10 → 5 Mbit/s" in page.locator("#time").inner_text()


def test_downloads(rich: Path, opener: Opener) -> None:
    opened = opener(rich)
    page = opened.page
    panel = page.locator("#time .panel").nth(1)
    svg = ElementTree.fromstring(opened.saved(panel.get_by_role("button", name="SVG")))
    assert svg.tag.endswith("svg")
    assert len([path for path in svg.iter() if path.tag.endswith("path") and len(path.get("d", "")) > 1000]) >= 2
    _check_png(opened.saved(panel.get_by_role("button", name="PNG")))
    rows = list(csv.DictReader(io.StringIO(opened.saved(panel.get_by_role("button", name="CSV")).decode())))
    assert {row["flow"] for row in rows} == {"bulk", "ping"}
    assert {row["links.bottleneck.delay"] for row in rows} == {"10ms", "20ms"}
    values = [float(row["round-trip time (ms)"]) for row in rows if row["round-trip time (ms)"]]
    assert 20 <= min(values) < max(values) < 1000

    figure = page.locator("#figures figure").nth(1)
    ElementTree.fromstring(opened.saved(figure.get_by_role("button", name="SVG")))
    _check_png(opened.saved(figure.get_by_role("button", name="PNG")))
    lines = list(csv.reader(io.StringIO(opened.saved(figure.get_by_role("button", name="CSV")).decode())))
    assert lines[0] == ["case", "bottleneck delay", "goodput (Mbit/s)"]
    assert len(lines) == 1 + 8  # a line for each run
    ElementTree.fromstring(opened.saved(page.locator("#setup figure").get_by_role("button", name="SVG")))
    table = opened.saved(page.locator("#results figure").get_by_role("button", name="CSV")).decode()
    assert len(list(csv.reader(io.StringIO(table)))) == 9
    page.locator("#again summary", has_text="The scenario").click()
    assert opened.saved(page.get_by_role("button", name="TOML")).decode() == RICH


def _check_png(content: bytes) -> None:
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", content[16:24])
    assert width > 1000 and height > 300
    assert len(content) > 10_000


def test_static_figures(rich: Path, opener: Opener) -> None:
    page = opener(rich).page
    titles = page.locator("#figures figcaption > span:first-child").all_inner_texts()
    assert titles[0] == "What happens when"
    assert any(title.startswith("Goodput of bulk, by case and bottleneck delay") for title in titles)
    assert "RTT of bulk, by case and bottleneck delay" in titles  # the distribution
    assert page.locator("#figures svg image").count() == 0
    for svg, data in zip(page.locator("#figures svg").all(), page.locator("#figures script").all(), strict=True):
        ElementTree.fromstring(svg.evaluate("netwarp.svgText"))
        lines = list(csv.reader(io.StringIO(json.loads(data.text_content() or ""))))
        assert len(lines) > 1
        assert len({len(line) for line in lines}) == 1
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids))


def test_tables_sort_and_every_metric_is_found(rich: Path, opener: Opener) -> None:
    opened = opener(rich)
    page = opened.page
    goodput = [float(text) for text in _goodputs(page)]
    page.locator("#results th .sort", has_text="goodput").click()
    assert [float(text) for text in _goodputs(page)] == sorted(goodput)
    page.locator("#results th .sort", has_text="goodput").press("Enter")
    assert [float(text) for text in _goodputs(page)] == sorted(goodput, reverse=True)
    page.locator("summary", has_text="Every metric").click()
    page.get_by_label("Find").fill("bulk cwnd_pkts_mean")
    assert page.locator("#metric-table tbody tr").count() == 4
    assert page.locator("#metric-count").inner_text() == "4 rows"


def _goodputs(page: Page) -> list[str]:
    cells = (
        page.locator("#results table tbody tr")
        .filter(has_text="bulk")
        .locator("td.number:first-of-type, td:nth-child(4)")
    )
    return [text.split("\n")[0] for text in cells.all_inner_texts()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone(rich: Path, opener: Opener, scheme: str) -> None:
    page = opener(rich, viewport=PHONE, color_scheme=scheme, has_touch=True, is_mobile=True).page
    for details in page.locator("details").all():
        details.evaluate("one => (one.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    assert page.locator("#setup svg:visible").count() == 1
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    light = sum(int(part) for part in back[4:-1].split(",")) > 3 * 128
    assert light == (scheme == "light")
    over = page.locator("#time .u-over").first
    over.scroll_into_view_if_needed()
    over.tap(position={"x": 100, "y": 40})
    assert page.locator("#time .readout b").first.inner_text().endswith(" s")


def test_runs_that_failed_and_are_suspect(tmp_path: Path, opener: Opener) -> None:
    (tmp_path / "scenario.toml").write_text(UNEVEN)
    made = netwarp("run", tmp_path / "scenario.toml", "-o", tmp_path / "result", "--report", "--no-plots")
    assert made.code == 3, made.err
    page = opener(tmp_path / "result").page
    assert "1 run failed" in page.locator("#verdict h2").inner_text()
    left = page.locator("#verdict .left-out").inner_text()
    assert "1 run failed: " in left and 'unknown parameter "limmit"' in left
    assert "1 run suspect: " in left and "receiver's window" in left
    assert page.locator("#runs tr.is-failed").count() == page.locator("#runs tr.is-suspect").count() == 1
    assert page.locator(".chip").all_inner_texts() == ["fine", "small window (suspect)", "bulk", "ping"]
    assert page.locator("#results tbody tr.is-failed").count() == 2
    assert "--no-plots" in page.locator("#figures").inner_text()


def test_a_result_without_any_usable_run(tmp_path: Path, opener: Opener) -> None:
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    arguments = ("-o", tmp_path / "result", "--set", "run.time_limit=1ms", "--report")
    made = netwarp("run", tmp_path / "scenario.toml", *arguments)
    assert made.code == 3, made.err
    page = opener(tmp_path / "result").page
    assert "No run of this result can be used" in page.locator("#verdict h2").inner_text()
    assert "time_limit" in page.locator("#verdict .left-out").inner_text()
    assert page.locator("#time, #results, #figures").count() == 0
    assert "run.time_limit=1ms" in page.locator("#again").inner_text()
