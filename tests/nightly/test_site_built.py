"""The documentation's site, built as by `make site` and opened in a browser: from files, from a server, narrow."""

from __future__ import annotations

import functools
import http.server
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from e2e_browser import browser  # noqa: F401 found by pytest
from nbclient.exceptions import CellExecutionError

from tools.site import __main__ as site
from tools.site import notebooks, places, tree

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

GENERATOR = Path(sys.executable).parents[1] / "site" / "bin"
TELEPHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site. Its notebooks are executed."""
    assert (GENERATOR / "mkdocs").exists(), "make site installs it"
    out = tmp_path_factory.mktemp("site") / "site"
    command: list[str | Path] = [sys.executable, "-m", "tools.site", "--generator", GENERATOR, "--out", out]
    done = subprocess.run(command, cwd=places.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    return out


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that prints nothing."""

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def address(built: Path) -> Iterator[str]:
    """The address of the site on the loopback."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(built)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(params=["file", "server"])
def begin(request: pytest.FixtureRequest, built: Path, address: str) -> str:
    """The site's address, for a reader of files and of a server."""
    return built.as_uri() if request.param == "file" else address


@pytest.fixture
def page(browser: Browser, begin: str) -> Iterator[Page]:  # noqa: F811
    """A page that may request nothing from elsewhere."""
    context = browser.new_context(color_scheme="light")
    page = context.new_page()
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    yield page
    context.close()
    assert requested
    assert [url for url in requested if not url.startswith((begin, "data:", "blob:", "about:"))] == []


def test_the_search_finds_a_word(page: Page, begin: str) -> None:
    page.goto(f"{begin}/index.html")
    page.get_by_placeholder("Search").click()
    page.get_by_placeholder("Search").press_sequentially("HyStart")
    found = page.locator(".md-search-result__link")
    found.first.wait_for()
    assert any("gallery.html" in (one.get_attribute("href") or "") for one in found.all())
    found.first.click()
    page.wait_for_url("**/*.html*")
    assert "HyStart" in page.locator("article").inner_text()


def test_dark_and_light(page: Page, begin: str) -> None:
    page.goto(f"{begin}/metrics.html")
    seen = []
    for _ in range(3):
        seen.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        page.locator("label[for^=__palette]:visible").click()
    assert len(set(seen)) == 2, "as the system, which is light here; light; dark"
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("light => getComputedStyle(document.body).backgroundColor != light", arg=seen[0])


def test_every_page_is_whole(browser: Browser, built: Path, address: str) -> None:  # noqa: F811
    """No picture is missing, no script fails, nothing is requested elsewhere, and no page is wider than a telephone."""
    pages = sorted(built.rglob("*.html"))
    assert len(pages) > 70
    context = browser.new_context(viewport=TELEPHONE)  # type: ignore[arg-type]
    page = context.new_page()
    wrong: list[str] = []
    page.on("request", lambda one: None if one.url.startswith((address, "data:")) else wrong.append(one.url))
    page.on("response", lambda one: wrong.append(one.url) if one.status >= 400 else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    for file in pages:
        page.goto(f"{address}/{file.relative_to(built)}")
        broken = page.evaluate("Array.from(document.images, i => i.complete && i.naturalWidth ? '' : i.src)")
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        wrong += [f"{file.name}: {one}" for one in broken if one]
        wrong += [f"{file.name}: {over} pixels too wide"] if over > 0 else []
    context.close()
    assert wrong == []


def test_notebooks_show_their_results(built: Path) -> None:
    for notebook in tree.notebooks():
        text = (built / places.place(notebook).with_suffix(".html")).read_text()
        assert '<div class="netwarp">' in text, "a study shows itself"
        assert "goodput" in text
    figure = built / "examples" / "compare_files"
    assert list(figure.glob("*.png")), "a figure of one's own"


def test_a_notebook_that_fails_fails_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").mkdir()
    text = (places.ROOT / "examples" / "compare.ipynb").read_text()
    (tmp_path / "examples" / "bad.ipynb").write_text(text.replace("import netwarp as nw", "import no_such_module"))
    monkeypatch.setattr(places, "ROOT", tmp_path)
    (notebook,) = tree.notebooks()
    with pytest.raises(CellExecutionError, match="no_such_module"):
        notebooks.write(tmp_path / "out", notebook, GENERATOR)


@pytest.mark.parametrize("link", ["[x](no.md)", "[x](metrics.md#no-such-heading)", "![x](images/no.png)"])
def test_a_link_that_leads_nowhere_fails_the_build(built: Path, tmp_path: Path, link: str) -> None:
    shutil.copytree(site.TREE, tmp_path / "tree")
    with (tmp_path / "tree" / "docs" / "bbr.md").open("a") as page:
        page.write(f"\n{link}\n")
    with pytest.raises(subprocess.CalledProcessError):
        site.build(tmp_path / "tree", GENERATOR, tmp_path / "site")
