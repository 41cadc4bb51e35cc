"""Words that STYLE.md replaces: none of the removed ones comes back, and the search finds them."""

from pathlib import Path

import pytest

from tools.words import findings


@pytest.mark.slow
def test_no_word_comes_back() -> None:
    assert list(findings()) == []


def test_words_are_found_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("It lies in the\nway, begins anew, and stands in the way. PathBeneath.\n")
    assert list(findings(tmp_path)) == ['docs/a.md:1: "lies in": is in', 'docs/a.md:2: "anew": again']


def test_a_file_may_have_its_known_findings_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "python" / "netwarp" / "policy.py"
    path.parent.mkdir(parents=True)
    path.write_text('"""What it is."""\n')
    assert not list(findings(tmp_path))
    path.write_text('"""What it is."""\n"""So many names have a place of their own."""\n')
    assert len(list(findings(tmp_path))) == 3


def test_a_thing_of_another_is_not_a_thing_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("within 5 s of its own time\nThere is no other. It is no longer there.\n")
    assert not list(findings(tmp_path))
