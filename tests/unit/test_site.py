"""The site of the documentation, without its generator: navigation, links in both places, and Markdown's dialect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from tools import gallery_page
from tools.site import contents, pages, places, tree

PAGES = [PurePosixPath("README.md"), *tree.sources()]


def broken(source: PurePosixPath, text: str) -> Iterator[str]:
    """The links of a page's text that lead to no file of the repository, or to no heading of it."""
    for link in pages.links(text):
        found = places.target(link, source)
        if found is None:
            continue
        path, anchor = found
        file = places.ROOT / path
        if path != source and not file.exists():
            yield f"{source}: {link}: no such file"
        elif anchor and anchor not in pages.anchors(text if path == source else file.read_text()):
            yield f"{source}: {link}: no such heading"


@pytest.mark.parametrize("source", PAGES, ids=str)
def test_links_lead_to_files_and_headings_of_the_repository(source: PurePosixPath) -> None:
    assert list(broken(source, (places.ROOT / source).read_text())) == []


def test_a_link_that_leads_nowhere_is_found() -> None:
    text = "# A page\n[one](no.md) [two](bbr.md#none) [three](#a-page)\n`[four](no.md)`\n```\n[five](no.md)\n```\n"
    found = [one.split(": ", 1)[1] for one in broken(PurePosixPath("docs/page.md"), text)]
    assert found == ["no.md: no such file", "bbr.md#none: no such heading"]
    with pytest.raises(ValueError, match="leaves the repository"):
        list(broken(PurePosixPath("docs/page.md"), "[up](../../x.md)"))


def test_the_navigation_has_each_page_once() -> None:
    listed = Counter(path for group in contents.navigation().values() for path in group.values())
    assert [path for path, count in listed.items() if count > 1] == []
    front = PurePosixPath("docs/README.md")
    assert set(listed) | {front} == {*tree.sources(), *tree.notebooks()}
    assert all(contents.navigation().values())


@pytest.mark.slow
def test_links_of_the_site_lead_to_its_pages(tmp_path: Path) -> None:
    """Notebooks are missing here, since they are executed when the site is built."""
    tree.write(tmp_path / "docs")
    for notebook in tree.notebooks():
        (tmp_path / "docs" / places.place(notebook)).write_text("# A notebook\n")
    written = sorted((tmp_path / "docs").rglob("*.md"))
    assert len(written) > 70
    for page in written:
        for link in pages.links(page.read_text()):
            name, _, anchor = link.partition("#")
            target = page.parent / name if name else page
            if ":" in name:
                continue
            assert target.is_file(), f"{page}: {link}"
            assert not anchor or anchor in pages.anchors(target.read_text()), f"{page}: {link}"
    assert "<!-- test" not in "".join(page.read_text() for page in written if "contributing" not in page.name)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("README.md", "index.md"),
        ("docs/README.md", "index.md"),
        ("docs", "index.md"),
        ("docs/bbr.md", "bbr.md"),
        ("docs/labs", "labs/index.md"),
        ("docs/images/l4s.png", "images/l4s.png"),
        ("SECURITY.md", "security.md"),
        ("examples", "examples/index.md"),
        ("examples/compare.ipynb", "examples/compare.md"),
        ("examples/ci/gate.sh", "files/examples/ci/gate.sh.md"),
        ("action.yml", "files/action.yml.md"),
    ],
)
def test_the_place_of_a_file(path: str, place: str) -> None:
    assert places.place(PurePosixPath(path)) == PurePosixPath(place)


def test_links_move_with_their_page() -> None:
    text = "[a](../../SECURITY.md#x) ![b](../images/l4s.png)\n[c\nd](../bbr.md) [e](#f) [g](https://h.test) `[i](j.md)`"
    moved = places.moved(text, PurePosixPath("docs/labs/mobile.md"))
    assert moved == (
        "[a](../security.md#x) ![b](../images/l4s.png)\n[c\nd](../bbr.md) [e](#f) [g](https://h.test) `[i](j.md)`"
    )


def test_lists_and_tables_begin_after_an_empty_line() -> None:
    text = "A:\n- b\n- c\n  d\n\nE\n| f |\n|---|\n| g |\n\n- h\n\n# I\n- j\nK\n1. l\nM\n2. n\n```\nx\n- y\n```\n"
    assert pages.on_site(text, PurePosixPath("docs/x.md")) == (
        "A:\n\n- b\n- c\n  d\n\nE\n\n| f |\n|---|\n| g |\n\n- h\n\n# I\n- j\nK\n1. l\nM\n2. n\n```\nx\n- y\n```\n"
    )


def test_comments_for_tests_are_left_out() -> None:
    text = "A\n<!-- test: long -->\n```\nb\n```\n<!-- a remark -->\n"
    assert pages.on_site(text, PurePosixPath("docs/x.md")) == "A\n```\nb\n```\n<!-- a remark -->\n"


def test_a_longer_fence_contains_shorter_ones() -> None:
    text = "a\n````text\n```\n[b](c.md)\n```\n````\n[d](e.md)\n"
    assert [part.fenced for part in pages.parts(text)] == [False, True, False]
    assert "".join(part.text for part in pages.parts(text)) == text
    assert pages.links(text) == ["e.md"]


def test_the_gallery_has_a_picture_and_a_page_for_each_scenario() -> None:
    """Links of the page are checked above; this checks that none is missing, and the error for a missing one."""
    text = gallery_page.markdown()
    assert all(f"**[{name}](" in text for name in gallery_page.files())


def test_a_scenario_without_a_place_in_the_gallery_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = gallery_page.files()
    monkeypatch.setattr(gallery_page, "files", lambda: found | {"newest": Path("newest.toml")})
    with pytest.raises(ValueError, match="differ in newest"):
        gallery_page.markdown()
