"""The Python interface, by its page: every block is run, in order."""

import re
from pathlib import Path
from typing import Any

import netwarp as nw
import pytest
from netwarp.scenario import ScenarioError
from netwarp.store.errors import StoreError

DOCUMENT = Path(__file__).parents[2] / "docs" / "python.md"


def test_the_document_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), flags=re.S)
    assert len(blocks) >= 8
    names: dict[str, Any] = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"{DOCUMENT.name}, block {number + 1}", "exec"), names)
    study: nw.Study = names["study"]
    assert study.path.resolve() == tmp_path / "results" / "queues"
    assert study.summary.filter(metric="goodput_mbps", name="bulk").height == 2 * 2 * 3
    assert names["rtt"].height == 4
    assert list(names["wide"].columns) == ["bbr", "cubic"]
    assert set(names["window"]["links.bottleneck.queue"]) == {"pfifo limit 100", "fq_codel"}
    assert (tmp_path / "window.png").stat().st_size > 10_000
    assert 'did you mean "rate"?' in capsys.readouterr().out


def test_the_same_as_the_command(tmp_path: Path) -> None:
    from e2e_command import digests, succeed

    short = {"duration": "15s", "links.bottleneck.queue": "pfifo limit 20"}
    words = [word for path, value in short.items() for word in ("--set", f"{path}={value}")]
    succeed("run", "bufferbloat", *words, "--seeds", "2", "--no-plots", "-o", tmp_path / "command")
    nw.run("bufferbloat", set=short, seeds=2, output=tmp_path / "python", quiet=True)
    assert digests(tmp_path / "python") == digests(tmp_path / "command")


def test_mistakes_are_exceptions_that_say_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="needs a list of values"):
        nw.load_scenario("bufferbloat", set={"sweep.flows.bulk.cc": "bbr"})
    with pytest.raises(ScenarioError, match="no shipped scenario of that name"):
        nw.run("bufferbloatt")
    with pytest.raises(ValueError, match="a scenario cannot hold"):
        nw.load_scenario("bufferbloat", set={"duration": object()})  # type: ignore[dict-item]
    with pytest.raises(StoreError, match="not a result directory"):
        nw.load_result(tmp_path)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        nw.nothing  # noqa: B018
