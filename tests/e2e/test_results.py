"""Expectations, figures that a user names, and old results analysed again."""

import json
from pathlib import Path

import pytest
from e2e_command import netwarp, succeed, times, write_scenario

EXPECT = """
[[expect]]
metric = "flow.goodput_mbps"
where = {{ name = "bulk", "links.bottleneck.queue" = "pfifo limit 20" }}
min = {least}
"""


@pytest.mark.parametrize(("least", "code", "word"), [(5, 0, "met"), (50, 1, "failed")])
def test_expectations_decide_the_exit_code(tmp_path: Path, least: int, code: int, word: str) -> None:
    scenario = write_scenario(tmp_path / "s.toml", more=EXPECT.format(least=least))
    done = netwarp("run", scenario, "-o", tmp_path / "r", "--no-plots")
    assert done.code == code, done.err
    output = next(line for line in done.out.splitlines() if "flow.goodput_mbps of bulk" in line)
    assert f"expected at least {least}, {word}: " in output
    elsewhere = netwarp("run", scenario, "-o", tmp_path / "o", "--no-plots", "--set", "links.bottleneck.queue=fq_codel")
    assert elsewhere.code == 0
    assert "not checked: it applies to no run of this plan" in elsewhere.out
    as_json = netwarp("report", tmp_path / "r", "--no-plots", "--json")
    assert as_json.code == code
    assert {row["metric"] for row in json.loads(as_json.out)} >= {"goodput_mbps", "rtt_ms_p95"}


def test_a_failed_run_outweighs_a_failed_expectation(tmp_path: Path) -> None:
    more = '[run]\ntime_limit = "1ms"\n' + EXPECT.format(least=5)
    done = netwarp("run", write_scenario(tmp_path / "s.toml", more=more), "-o", tmp_path / "r", "--no-plots")
    assert done.code == 3
    assert "there is no value" in done.out


def test_figures_of_an_old_result(tmp_path: Path) -> None:
    result = tmp_path / "r"
    succeed("run", write_scenario(tmp_path / "s.toml"), "-o", result, "--no-plots", "--seeds", "2")
    records = {name: at for name, at in times(result).items() if name.endswith(".arrows")}
    drawn = succeed("plot", result, "--metric", "flow.rtt_ms_p95", "--by", "links.bottleneck.queue")
    assert [Path(line).suffix for line in drawn.out.split()] == [".png", ".svg"]
    pdf = succeed("plot", result, "--metric", "flow.rtt_ms", "--format", "pdf", "-o", tmp_path / "f")
    assert Path(pdf.out.strip()).read_bytes().startswith(b"%PDF")
    assert Path(pdf.out.strip()).name.endswith("cdf.pdf")
    reported = succeed("report", result)
    assert "pfifo limit 40" in reported.out
    assert (result / "plots" / "cwnd-bulk.png").exists()
    assert {name: at for name, at in times(result).items() if name.endswith(".arrows")} == records


@pytest.fixture(scope="module")
def short_result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result of two short runs."""
    place = tmp_path_factory.mktemp("short")
    succeed("run", write_scenario(place / "s.toml", duration="2s"), "-o", place / "r", "--no-plots")
    return place / "r"


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["--metric", "flow.goodput"], 'did you mean "flow.goodput_mbps"?'),
        (["--metric", "flow.rtt_ms_p95", "--by", "links.bottleneck.que"], 'did you mean "links.bottleneck.queue"?'),
        (["--metric", "flow.rtt_ms_p95", "--kind", "pie"], "is not a kind of figure"),
        (["--format", "gif"], "is not a format of figures"),
    ],
)
def test_what_cannot_be_drawn_is_said(short_result: Path, arguments: list[str], output: str) -> None:
    done = netwarp("plot", short_result, *arguments)
    assert done.code == 2
    assert output in done.err
