"""Studies as the core finds them: those that cannot be loaded, those with the same names, and when any is looked up."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from netwarp.cli.application import application
from netwarp.exports import exporter
from netwarp.plan import make_plan
from netwarp.scenario import ScenarioError, load_scenario, parse_scenario, shipped_scenarios
from netwarp.scenario.model.views import known_views
from netwarp.steps.imports import import_result
from netwarp.steps.needs import refuse_unshowable
from netwarp.steps.views import write_views
from netwarp.store.errors import LayoutError
from netwarp.store.result import ResultDir
from netwarp.studies import registry
from netwarp.studies.base import Export, Study, StudyError
from other_study import offer, register
from scenario_texts import DUMBBELL, replaced

TWIN = """
from pathlib import Path
from netwarp.studies.base import Export, Study
STUDY = Study(
    scenarios=Path(__file__).parent / "others_scenarios",
    views={"goodputs": "twin:write"},
    exports={"goodputs": Export("twin:write", "the same once more"), "csv": Export("twin:write", "Not this.")},
    commands={"fastest": "twin:fastest", "run": "twin:run"},
)
"""

MODULES = ("other_study", "twin", "broken_study", "some_study", "netwarp.cli.export")
"""The modules in the packages of these tests, and the command whose help names one: each test imports its own."""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory of installed packages."""
    place = tmp_path / "site"
    place.mkdir()
    monkeypatch.syspath_prepend(str(place))
    before = {name: sys.modules.pop(name) for name in MODULES if name in sys.modules}
    registry._found.cache_clear()
    yield place
    registry._found.cache_clear()
    for name in MODULES:
        sys.modules.pop(name, None)
    sys.modules.update(before)


def _viewing(view: str) -> str:
    return replaced(('name = "t"', f'name = "t"\nviews = ["{view}"]'))


def test_what_a_package_offers_is_there(site: Path) -> None:
    offer(site)
    assert "others" in dict(registry.studies())
    assert "goodputs" in known_views() and "one-flow" in shipped_scenarios()
    assert load_scenario("one-flow").views == ("goodputs",)
    refuse_unshowable(make_plan(load_scenario("one-flow")))
    with pytest.raises(ScenarioError, match="the view goodputs compares cases"):
        refuse_unshowable(make_plan(load_scenario("bufferbloat", ['views=["goodputs"]'])))


def test_views_are_called_by_name_with_the_result(site: Path, tmp_path: Path) -> None:
    (site / "some_study.py").write_text(
        "from netwarp.studies.base import Study\n"
        'STUDY = Study(views={"some-view": "some_study:write"})\n'
        "def write(result, *, figures=True):\n"
        '    return [result.path / "some-view" / f"figures-{figures}.csv"]\n'
    )
    register(site, "some", "some_study:STUDY")
    assert write_views(ResultDir(tmp_path), ["some-view"], figures=False) == [tmp_path / "some-view/figures-False.csv"]
    assert write_views(ResultDir(tmp_path), ["some-view"]) == [tmp_path / "some-view/figures-True.csv"]
    with pytest.raises(StudyError, match='there is no view "nosuch"'):
        write_views(ResultDir(tmp_path), ["nosuch"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("broken_study:STUDY", "ZeroDivisionError"),
        ("nowhere:STUDY", "ModuleNotFoundError: No module named 'nowhere'"),
        ("netwarp.studies.base:StudyError", "netwarp.studies.base:StudyError is not a netwarp Study"),
    ],
)
def test_a_study_that_cannot_be_loaded_is_named_where_it_may_be_missed(
    site: Path, value: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (site / "broken_study.py").write_text("1 / 0\n")
    register(site, "broken", value)
    (sentence,) = registry.unloadable()
    assert sentence.startswith('the study "broken" cannot be loaded: ') and why in sentence
    assert len(registry.studies()) >= 5, "the others are there"
    with pytest.raises(ScenarioError) as no_view:
        parse_scenario(_viewing("nosuch"))
    with pytest.raises(ScenarioError) as no_scenario:
        load_scenario("nosuch")
    assert sentence in str(no_view.value) and sentence in str(no_scenario.value)
    assert parse_scenario(DUMBBELL).name == "t"
    application(["list"])(["list"], exit_on_error=False, result_action="return_value")
    assert f"note: {sentence}" in capsys.readouterr().err.replace("\n", " ")


def test_what_two_studies_offer_cannot_be_used(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    offer(site)
    (site / "twin.py").write_text(TWIN)
    register(site, "twin", "twin:STUDY")
    for kind, name in (("views", "goodputs"), ("exports", "goodputs"), ("commands", "fastest")):
        with pytest.raises(StudyError, match=f'"{name}": others, twin; uninstall the packages of all but one'):
            registry.load(kind, name)  # type: ignore[arg-type]
    with pytest.raises(ScenarioError, match='several studies have a scenario "one-flow": others, twin'):
        load_scenario("one-flow")
    assert "one-flow" not in shipped_scenarios()
    shown = set(application())
    assert "run" in shown and "fastest" not in shown
    assert 'several studies have a command "fastest"' in " ".join(capsys.readouterr().err.split())


def test_names_of_the_core_stay_its_own(site: Path) -> None:
    register(site, "twin", "twin:STUDY")
    (site / "twin.py").write_text(TWIN.replace("scenarios=", "scenarios=Path(__file__).parent / 'own' if 1 else "))
    (site / "own").mkdir()
    (site / "own" / "bufferbloat.toml").write_text(DUMBBELL)
    assert exporter("csv").__module__ == "netwarp.exports.tables"
    assert load_scenario("bufferbloat").name == shipped_scenarios()["bufferbloat"].stem == "bufferbloat"
    assert application(["run"])["run"].default_command.__module__ == "netwarp.cli.run"


def test_what_no_importer_knows_is_refused_with_every_reason(site: Path, tmp_path: Path) -> None:
    offer(site)
    with pytest.raises(LayoutError) as caught:
        import_result(tmp_path)
    assert f"{tmp_path} has no result.tar" in str(caught.value)
    assert "expected SCENARIO/SCENARIO_run_N/" in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"views": {"a": "module.function"}},
        {"exports": {"a": Export("a b:c", "")}},
        {"commands": {"a": ""}},
        {"imports": ("module:",)},
        {"short_words": {"(": ""}},
    ],
)
def test_a_record_that_refers_to_nothing_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="is not a"):
        Study(**wrong)  # type: ignore[arg-type]


LOOKS = (
    "import sys, netwarp.studies.registry as registry\n{}\nprint(registry._found.cache_info().currsize, *sys.modules)"
)
HEAVY = {"polars", "pyarrow", "numpy", "pydantic", "matplotlib"}


def _loaded_by(code: str, folder: Path) -> tuple[bool, set[str]]:
    """Whether studies were looked up, and which modules are loaded."""
    done = subprocess.run(
        [sys.executable, "-c", LOOKS.format(code)], cwd=folder, capture_output=True, text=True, check=True
    )
    looked, *modules = done.stdout.splitlines()[-1].split()
    return looked == "1", set(modules)


@pytest.mark.slow
def test_nothing_is_looked_up_for_what_the_core_has(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(DUMBBELL)
    code = "from netwarp.scenario import load_scenario; load_scenario('lab.toml'); load_scenario('bufferbloat')"
    names = "from netwarp.cli.application import application; application(['run', 'show'])"
    looked, _ = _loaded_by(f"{code}; {names}", tmp_path)
    assert not looked


@pytest.mark.slow
def test_the_command_of_a_study_is_in_the_help_without_what_it_computes_with(tmp_path: Path) -> None:
    code = "from netwarp.cli.application import application\nassert 'recommend' in application()"
    looked, modules = _loaded_by(code, tmp_path)
    assert looked and not HEAVY & modules
