"""The page of metrics agrees with the code, and the code measures nothing that is missing there."""

from pathlib import Path

from netwarp.analysis.catalogue.metrics import CATALOGUE, entry_of
from netwarp.analysis.run.metrics import analyse_run
from synthetic import write_run

ROOT = Path(__file__).parents[2]


def test_the_page_says_of_every_metric_whose_bytes_which_clock_and_which_interval() -> None:
    assert [one.names for entries in CATALOGUE.values() for one in entries if not one.basis] == []


def test_entries_speak_of_their_own_names() -> None:
    for one in (one for entries in CATALOGUE.values() for one in entries):
        assert {*one.main, *one.labels, *filter(None, [one.overview])} <= set(one.names), one.names


def test_what_is_measured_is_on_the_page(tmp_path: Path) -> None:
    write_run(tmp_path, flows=2)
    for scope, metric in analyse_run(tmp_path).select("scope", "metric").unique().iter_rows():
        assert entry_of(scope, metric) is not None, (scope, metric)
