"""The server: tornado on the loopback, read-only, for clients that have the token."""

import asyncio
import hmac
import logging
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import polars as pl
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler

from netwarp.report import page_style, tables_script
from netwarp.scenario import ScenarioError
from netwarp.serve.directory import Directory
from netwarp.serve.pages import Pages, address, error_page, figures
from netwarp.serve.watched import Watched
from netwarp.store.errors import StoreError
from netwarp.store.files import read_content

LOOPBACK = "127.0.0.1"
_NAMES = (LOOPBACK, "localhost")
_COOKIE = "netwarp_token"
_OPEN_S, _STEP_S = 3.0, 0.05
"""A page is open if it asked within this time; and the interval at which this is checked."""
_LOG = logging.getLogger(__name__)
_POLICY = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Server:
    """Serves the results of a directory while the block runs; use as a context manager. Raises OSError.

    `port` 0 takes a free one. The server has its own thread, and makes pages on another, one at a time.
    """

    def __init__(self, root: Path, port: int = 0) -> None:
        self._directory = Directory(root)
        self._token = secrets.token_urlsafe(24)
        self._sockets = bind_sockets(port, LOOPBACK)
        self.port: int = self._sockets[0].getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._workers = ThreadPoolExecutor(1)
        self._pages = Pages(self._directory)
        self._thread = threading.Thread(target=self._serve, name="netwarp-serve", daemon=True)

    @property
    def address(self) -> str:
        """The address to open, with the token."""
        return f"http://{LOOPBACK}:{self.port}/?token={self._token}"

    def __enter__(self) -> "Server":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._let_look()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._workers.shutdown(wait=True, cancel_futures=True)

    def _let_look(self) -> None:
        """Wait until an open page has asked once more, so that it shows the final state."""
        ended = time.monotonic()
        if ended - self._pages.asked_at < _OPEN_S:
            while self._pages.asked_at <= ended and time.monotonic() < ended + _OPEN_S:
                time.sleep(_STEP_S)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        site = {
            "token": self._token, "directory": self._directory, "workers": self._workers, "pages": self._pages
        }  # fmt: skip
        routes: list[Any] = [
            (r"/", _Index, site),
            (r"/parts", _IndexParts, site),
            (r"/assets/([a-z.]+)", _Asset, site),
            (r"/results/(.+)/parts", _ResultParts, site),
            (r"/results/(.+)/report", _Report, site),
            (r"/results/(.+)/runs/([0-9a-z]+)", _Report, site),
            (r"/results/(.+)/figures/([^/]+)", _Figure, site),
            (r"/results/(.+)/", _Result, site),
            (r".*", _Nothing, site),
        ]
        server = HTTPServer(Application(routes, log_function=lambda handler: None))
        server.add_sockets(self._sockets)
        try:
            self._loop.run_forever()
        finally:
            server.stop()
            self._loop.run_until_complete(server.close_all_connections())
            self._loop.close()


class _Page(RequestHandler):
    """The base of all pages: access control and error messages."""

    SUPPORTED_METHODS = ("GET", "HEAD")

    def initialize(self, token: str, directory: Directory, workers: ThreadPoolExecutor, pages: Pages) -> None:
        self.token, self.directory, self.workers, self.pages = token, directory, workers, pages

    def set_default_headers(self) -> None:
        self.set_header("Content-Security-Policy", _POLICY)
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("Cross-Origin-Resource-Policy", "same-origin")
        self.set_header("Cache-Control", "no-store")
        self.clear_header("Server")

    def prepare(self) -> None:
        """Refuse requests to other names of this host (DNS rebinding), and clients without the token."""
        self.refuse_other_names()
        given = self.get_query_argument("token", None)
        if given is not None and _same(given, self.token):
            # The cookie's name has the port: cookies are not separated by ports, and several servers may run.
            self.set_cookie(self._cookie, self.token, httponly=True, samesite="Strict", path="/")
            self.redirect(self.request.path)
        elif not _same(self.get_cookie(self._cookie) or "", self.token):
            raise HTTPError(403, "open the address that netwarp printed, which has a token in it")

    def refuse_other_names(self) -> None:
        """Refuse requests unless they name this host as in the printed address, or localhost."""
        if self._called[0] not in _NAMES:
            raise HTTPError(421, "this server answers to 127.0.0.1 and localhost")

    @property
    def _called(self) -> tuple[str | None, int]:
        """The name and the port of this server in the request."""
        try:
            parts = urlsplit(f"//{self.request.host}")
            return parts.hostname, parts.port or 80
        except ValueError:
            raise HTTPError(400, "this is not the address of a server: a port is a number up to 65535") from None

    @property
    def _cookie(self) -> str:
        return f"{_COOKIE}_{self._called[1]}"

    async def head(self, *names: str) -> None:
        await self.get(*names)  # type: ignore[misc]

    async def made(self, make: Callable[..., Any], *given: Any) -> Any:
        """The return value of `make`, called on the thread of pages; errors become error pages."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self.workers, make, *given)
        except (StoreError, ScenarioError) as error:
            raise HTTPError(500, str(error).replace("%", "%%")) from error
        except (Exception, pl.exceptions.PanicException) as error:
            _LOG.warning("%s: %s: %s", self.request.path, type(error).__name__, error)
            raise HTTPError(500, "netwarp could not make this page; its terminal says why") from error

    def found(self, name: str) -> Watched:
        """The result of this name. Raises HTTPError."""
        watched = self.directory.result(name)
        if watched is None:
            raise HTTPError(404, "there is no such result here")
        return watched

    def write_error(self, status_code: int, **facts: Any) -> None:
        error = facts.get("exc_info", (None, None, None))[1]
        sentence = (error.log_message or "") if isinstance(error, HTTPError) else ""
        self.finish(error_page(f"{status_code} {self._reason}", sentence.replace("%%", "%")))

    def log_exception(self, *raised: Any) -> None:
        """Log nothing: the page shows the error."""


class _Index(_Page):
    async def get(self) -> None:
        if self.directory.is_result:
            self.redirect(f"{address(self.directory.results()[0])}/")
            return
        self.finish(await self.made(self.pages.index))


class _IndexParts(_Page):
    async def get(self) -> None:
        if self.directory.is_result:  # it has become one since the page was opened
            self.finish({"parts": {}, "go": f"{address(self.directory.results()[0])}/"})
            return
        self.finish({"parts": await self.made(self.pages.index_parts)})


class _Result(_Page):
    async def get(self, name: str) -> None:
        self.finish(await self.made(self.pages.result, self.found(name)))


class _ResultParts(_Page):
    async def get(self, name: str) -> None:
        self.finish({"parts": await self.made(self.pages.result_parts, self.found(name))})


class _Report(_Page):
    async def get(self, name: str, run_id: str | None = None) -> None:
        watched = self.found(name)
        if run_id is not None and run_id not in {run.id for run in watched.result.planned}:
            raise HTTPError(404, "this result has no such run")
        text = await self.made(self.pages.report, watched, run_id)
        # The page has its own policy, which allows its script by its digest.
        self.clear_header("Content-Security-Policy")
        self.finish(text)


class _Figure(_Page):
    async def get(self, name: str, file: str) -> None:
        path = next((path for path in figures(self.found(name)) if path.name == file), None)
        if path is None:
            raise HTTPError(404, "this result has no such figure")
        content = await self.made(read_content, path)
        self.set_header("Content-Type", "image/png")
        self.finish(content)


class _Asset(_Page):
    def prepare(self) -> None:
        """Require no token: assets are public, and the page that asks for the token needs them."""
        self.refuse_other_names()

    async def get(self, name: str) -> None:
        kind, text = _asset(name)
        self.set_header("Content-Type", f"{kind}; charset=utf-8")
        self.finish(text)


class _Nothing(_Page):
    async def get(self) -> None:
        raise HTTPError(404, "there is no such page")


def _asset(name: str) -> tuple[str, str]:
    own = resources.files("netwarp.serve") / "assets"
    if name == "style.css":
        return "text/css", page_style() + (own / "serve.css").read_text(encoding="utf-8")
    if name == "serve.js":
        return "text/javascript", tables_script() + (own / "serve.js").read_text(encoding="utf-8")
    raise HTTPError(404, "there is no such file")


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), token.encode())
