"""Words that STYLE.md replaces: none of the removed ones comes back, and the search finds them."""

from pathlib import Path

from tools.words import findings


def test_no_word_comes_back() -> None:
    assert list(findings()) == []


def test_words_are_found_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("It lies in the\nway, begins anew, and stands in the way. PathBeneath.\n")
    assert list(findings(tmp_path)) == ['docs/a.md:1: "lies in": is in', 'docs/a.md:2: "anew": again']
