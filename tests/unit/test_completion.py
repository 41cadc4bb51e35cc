"""A shell's candidates at the Tab key, and the place of its script."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from netwarp.cli import completion
from netwarp.cli.application import application
from netwarp.engines.registry import ENGINES

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR"):
        monkeypatch.delenv(name, raising=False)


def offered(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """The candidates for the last word."""
    monkeypatch.setenv("CYCLOPTS_COMPLETION_WORDS", "".join(f"{word}\x1f" for word in words))
    with pytest.raises(SystemExit) as end:
        completion.answer()
    assert end.value.code == 0
    lines = capfd.readouterr().out.partition("\x1fbegin\n")[2].splitlines()
    return [line.partition("\t")[0] for line in lines if not line.startswith("\x1f")]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["ru"], {"run"}),
        (["kernel", ""], {"build", "list", "remove"}),
        (["help", "wh"], {"whatif"}),
        (["run", "bufferbloat-"], {"bufferbloat-50-100-150", "bufferbloat-first-peak"}),
        (["run", "bufferbloat", "--retry"], {"--retry-failed"}),
        (["run", "bufferbloat", "--engine", ""], set(ENGINES)),
        (["run", "bufferbloat", "--engine=h"], {"host"}),
        (["run", "bufferbloat", "--set", "links."], {"links.bottleneck.", "links.access."}),
        (["run", "bufferbloat", "--set", "links.bottleneck.de"], {"links.bottleneck.delay="}),
        (
            ["run", "bufferbloat", "--set", "links.bottleneck.queue=pfifo limit 2"],
            {"links.bottleneck.queue=pfifo limit 20"},
        ),
        (["run", "bufferbloat", "--sweep", "flows.bulk.cc=reno,c"], {"flows.bulk.cc=reno,cubic"}),
        (["shell", "bufferbloat", "--node", "h"], {"h1", "h2"}),
        (["run", "mitigate", "--case", "no c"], set()),
        (["plot", "x", "--kind", "b"], {"bar", "box"}),
        (["plot", "x", "--format", "png,"], {"png,svg", "png,pdf"}),
        (["plot", "x", "--style", ""], {"acm", "ieee"}),
        (["advise", "--effort", ""], {"quick", "usual", "thorough"}),
        (["agree", "--engines", "uml,h"], {"uml,host"}),
        (["--install-completion", "z"], {"zsh"}),
        (["nothing", ""], set()),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_words_are_completed(
    words: list[str], expected: set[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert set(offered(monkeypatch, capfd, *words)) == expected


def test_a_result_offers_its_own_figures_metrics_and_points(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    one = Path("results/one")
    (one / "plots").mkdir(parents=True)
    for name in ("cwnd-bulk--cubic.png", "rtt-bulk.png"):
        (one / "plots" / name).touch()
    (one / "summary.csv").write_text("run_id,scope,name,metric,value\na,flow,bulk,rtt_ms_p95,3\na,queue,q,drops,1\n")
    run = {"id": "a", "seed": 1, "point": {"flows.bulk.cc": "cubic"}}
    (one / "plan.json").write_text(json.dumps({"axes": ["flows.bulk.cc"], "runs": [run]}))
    assert offered(monkeypatch, capfd, "plot", "res") == ["results/one"]
    assert offered(monkeypatch, capfd, "plot", "results/one", "c") == ["cwnd-bulk", "cwnd-bulk--cubic"]
    assert set(offered(monkeypatch, capfd, "plot", "results/one", "--metric", "flow.")) == {
        "flow.rtt_ms_p95",
        "flow.rtt_ms",
    }
    assert offered(monkeypatch, capfd, "plot", "results/one", "--by", "flo") == ["flows.bulk.cc"]
    assert offered(monkeypatch, capfd, "plot", "results/one", "--only", "bulk,") == ["bulk,cubic"]
    assert offered(monkeypatch, capfd, "compare", "results/one", "-a", "flows") == ["flows.bulk.cc=cubic"]


def test_a_kernel_offers_what_it_has(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    from netwarp.cli import values

    monkeypatch.setattr(values, "_described", lambda what: {"congestion_controls": ["bbr"], "qdiscs": ["cake"]}[what])
    assert "flows.bulk.cc=bbr" in offered(monkeypatch, capfd, "run", "bufferbloat", "--set", "flows.bulk.cc=")
    assert "links.bottleneck.queue=cake" in offered(
        monkeypatch, capfd, "run", "bufferbloat", "--set", "links.bottleneck.queue="
    )
    assert offered(monkeypatch, capfd, "dev", "x.c", "--against", "reno,") == ["reno,bbr"]


@pytest.mark.parametrize("shell", SHELLS)
def test_it_is_installed_once_and_again_in_the_place_of_the_first(shell: str, tmp_path: Path) -> None:
    for rc in (".bashrc", ".zshrc"):
        (tmp_path / rc).write_text("alias ll=ls")
    for _ in range(2):
        with pytest.raises(SystemExit) as end:
            application()(["--install-completion", shell], exit_on_error=False)
        assert end.value.code == 0
    (script,) = (path for path in tmp_path.rglob("*netwarp*") if path.is_file())
    assert "netwarp" in script.read_text()
    start = {"bash": ".bashrc", "zsh": ".zshrc"}.get(shell)
    if start:
        lines = (tmp_path / start).read_text().splitlines()
        assert lines[0] == "alias ll=ls" and len(lines) == 2 and str(script) in lines[1]


def test_the_shell_is_named_if_it_is_not_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    with pytest.raises(SystemExit) as end:
        application()(["--install-completion"], exit_on_error=False)
    assert end.value.code == 2 and "netwarp --install-completion bash, zsh or fish" in capsys.readouterr().err
