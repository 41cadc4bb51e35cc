"""Requests to `netwarp serve` that no browser makes."""

from __future__ import annotations

import os
import random
import signal
import socket
import time
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from bench.torture.cases import Case, command_line
from bench.torture.commands import finish, start
from bench.torture.judge import HANG, WRONG
from bench.torture.results import copied

_REQUESTS = 40
_START_S = 60.0
_ANSWER_S = 20.0
_HOSTS = (
    *("localhost", "127.0.0.1", "localhost:{port}", "127.0.0.1:{port}", "127.0.0.1:99999999", "localhost:-1"),
    *("localhost:0", "localhost:", ":", "", "[", "[::1", "[::1]", "[::1]:x", "a@localhost", "localhost:80:80"),
    *("evil.example", "x" * 5000, "loc%41lhost", "\x80", "localhost:\xb2"),
)
_PATHS = (
    *("/", "/parts", "/results/", "/results//", "/results/r/", "/results/r/parts", "/results/r/report", "//", "/%00"),
    *("/results/../../etc/passwd/", "/results/%2e%2e/", "/results/r/runs/x", "/results/r/figures/..", "/assets/x", "*"),
    *("/results/r/figures/%ff", "/?token=%ff", "/?token=a&token=b", "/" + "x" * 10_000, "/results/" + "a/" * 2000),
    *("/?token={token}", "/results/r/runs/{token}", "http://[/", "http://localhost:99999999/", "/\x80", ""),
)
_METHODS = ("GET", "GET", "GET", "HEAD", "POST", "OPTIONS", "CONNECT", "TRACE", "get", "G" * 1000)
_COOKIES = (
    *("netwarp_token_{port}={token}", "netwarp_token_{port}={token}", "netwarp_token_{port}=x", "", "=", ";;;", 'a="'),
    *("netwarp_token_=", "\x80=1", "a" * 5000, '="\\'),
)


class Pages:
    """A server of a result, and requests with odd parts."""

    name = "pages"
    unit = "requests"
    share = 0.03

    def attack(self, case: Case) -> None:
        """Serve a result, ask for its pages, and end the server."""
        result = copied(case)
        case.report.target, case.report.attacks = "serve", _REQUESTS
        running = start(
            ("netwarp", "serve", result.parent),
            cwd=case.place.work,
            environment=case.place.environment(),
            logs=case.place.root,
            action=command_line,
            processor=case.processor,
        )
        if (address := _address(running.out)) is None:
            case.fail(HANG, "the server did not print its address")
        else:
            for _ in range(_REQUESTS):
                _ask(case, address)
        os.kill(running.pid, signal.SIGTERM)
        case.judge(finish(running))


def _address(out: Path) -> SplitResult | None:
    deadline = time.monotonic() + _START_S
    while not (text := out.read_text()).endswith("\n"):
        if time.monotonic() > deadline:
            return None
        time.sleep(0.05)
    return urlsplit(text.strip())


def _ask(case: Case, address: SplitResult) -> None:
    """Send a request; the answer must not be a server error."""
    known = {"port": str(address.port), "token": address.query.partition("=")[2]}
    request = _request(case.rng, known)
    try:
        with socket.create_connection(("127.0.0.1", address.port or 80), timeout=_ANSWER_S) as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(64)
    except TimeoutError:
        case.fail(HANG, f"no answer to {request[:300]!r}")
    except ConnectionError:
        return  # it may hang up on an invalid request
    else:
        if answer.startswith(b"HTTP/1.1 5"):
            case.fail(WRONG, f"{answer[:30]!r} for {request[:300]!r}")


def _request(rng: random.Random, known: dict[str, str]) -> bytes:
    def one(of: tuple[str, ...]) -> str:
        text = rng.choice(of)
        for name, value in known.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    hosts = [f"Host: {one(_HOSTS)}" for _ in range(rng.choice((1, 1, 1, 1, 0, 2)))]
    head = [f"{one(_METHODS)} {one(_PATHS)} HTTP/1.1", *hosts, f"Cookie: {one(_COOKIES)}", "Connection: close"]
    return ("\r\n".join(head) + "\r\n\r\n").encode("latin-1")
