"""Studies are pluggable: one from another package is listed, run, viewed, exported and imported, and has its
command."""

import tarfile
from pathlib import Path

import pytest
from e2e_command import netwarp, succeed
from other_study import offer


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """With the package that offers the study `others` installed."""
    site = tmp_path_factory.mktemp("site")
    offer(site)
    return {"PYTHONPATH": str(site)}


@pytest.fixture(scope="module")
def result(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result of its scenario, which only its name finds."""
    place = tmp_path_factory.mktemp("others") / "r"
    answer = succeed("run", "one-flow", "-o", place, env=environment)
    assert "every flow moves data" in answer.out
    return place


def test_its_scenario_is_listed(environment: dict[str, str]) -> None:
    listed = succeed("list", env=environment).out
    assert "one-flow" in listed and "One flow of someone else's" in listed
    assert "one-flow" not in succeed("list").out, "it is the package that offers it"


def test_its_view_is_written_and_drawn(environment: dict[str, str], result: Path) -> None:
    assert (result / "goodputs" / "goodputs.csv").read_text().startswith("case,goodput_mbps\nothersCubic_10,")
    assert (result / "plots" / "goodputs.png").stat().st_size > 1000
    (result / "plots" / "goodputs.png").unlink()
    succeed("report", result, env=environment)
    assert (result / "plots" / "goodputs.png").is_file()
    page = (result / "report.html").read_text()
    assert "every flow moves data" in page and "goodputs/goodputs.csv" in page


def test_its_words_are_in_figures(environment: dict[str, str], result: Path) -> None:
    """Short names of cases, in the figures of the core; its own figures have the full names."""
    own = result / "plots" / "goodputs.svg"
    drawn = "".join(path.read_text() for path in sorted({*(result / "plots").glob("*.svg")} - {own}))
    assert "othersCubic_10" in own.read_text()
    assert "my Cubic 10" in drawn and "othersCubic_10" not in drawn


def test_its_command_is_shown_and_runs(environment: dict[str, str], result: Path) -> None:
    assert "Name the case with the highest goodput." in " ".join(succeed("--help", env=environment).out.split())
    assert "A result of one-flow." in succeed("fastest", "--help", env=environment).out
    assert succeed("fastest", result, env=environment).out.startswith("others")


def test_it_exports_and_imports(environment: dict[str, str], result: Path, tmp_path: Path) -> None:
    assert "goodputs (the goodput of each flow" in " ".join(
        succeed("export", "--help", env=environment).out.replace("│", " ").split()
    )
    succeed("export", result, "--format", "goodputs", "-o", tmp_path, env=environment)
    assert (tmp_path / "goodputs.csv").read_text() == (result / "goodputs" / "goodputs.csv").read_text()
    with tarfile.open(tmp_path / "result.tar", "w") as archive:
        for path in sorted(result.iterdir()):
            archive.add(path, path.name)
    succeed("import", tmp_path, "-o", tmp_path / "again", env=environment)
    assert (
        succeed("fastest", tmp_path / "again", env=environment).out == succeed("fastest", result, env=environment).out
    )


def test_its_rows_are_verified(environment: dict[str, str], tmp_path: Path) -> None:
    answer = succeed("verify", "others-goodput", "-o", tmp_path / "v", env=environment)
    assert "✓ others-goodput: agrees" in answer.out


def test_without_it_its_result_says_what_is_missing(result: Path) -> None:
    answer = netwarp("report", result)
    assert answer.code == 2
    assert 'there is no view "goodputs"' in answer.words
