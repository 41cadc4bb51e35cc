"""A node with answers that no agent gives: an error with a sentence, and no answer is believed."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import UnionType

import pytest
from netwarp.engines.ssh.answers import Built, Clock, Ended, Failed, File, Greeting, Restored, Surveyed, parse
from netwarp.engines.ssh.inventory import Machine
from netwarp.engines.ssh.session import Login, NodeError, Session

CLOCK: dict[str, object] = {"heard_ns": 1, "said_ns": 2, "wall_ns": 3}
SURVEYED: dict[str, object] = {
    "kernel": "Linux 6.12",
    "release": "6.12",
    "landlock": 6,
    "programs": {"tc": None},
    "refused": None,
}
WHOLE: list[tuple[type | UnionType, dict[str, object]]] = [
    (Greeting, {"agent": "0.1.0"}),
    (Clock, CLOCK),
    (Surveyed, SURVEYED | {"problems": [], "note": None}),
    (Surveyed, SURVEYED | {"problems": [], "refused": {"qdiscs": [["netem", "no"]], "congestion_controls": []}}),
    (Built | Ended, {"built": True, "landlock": 0}),
    (Built | Ended, {"ended": None, "late_ns": None, "indices": {}}),
    (Ended, {"ended": 0, "late_ns": 5, "indices": {"3": 11}}),
    (File | Restored, {"file": "console.log", "bytes": 0}),
    (File | Restored, {"restored": []}),
]


@pytest.mark.parametrize(("kind", "answer"), WHOLE)
def test_what_the_agent_says_is_read(kind: type, answer: dict[str, object]) -> None:
    assert not isinstance(parse(json.dumps(answer).encode(), kind), Failed)
    assert parse(b'{"failed": "no"}', kind) == Failed(failed="no")


def test_interfaces_are_numbers() -> None:
    assert parse(b'{"ended": 0, "late_ns": 5, "indices": {"3": 11}}', Ended).indices == {3: 11}  # type: ignore[union-attr]


ODD = [b"5", b"null", b"[]", b"[" * 200_000, b"{}", b'"x"', b"\xff\xfe", b"", b'{"failed": 5}', b"9" * 5000, b"NaN"]


@pytest.mark.parametrize("line", ODD, ids=lambda line: line[:10])
@pytest.mark.parametrize("kind", [kind for kind, _ in WHOLE])
def test_anything_else_is_refused(kind: type, line: bytes) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        parse(line, kind)


@pytest.mark.parametrize(("kind", "answer"), WHOLE)
def test_fields_of_another_type_are_refused(kind: type, answer: dict[str, object]) -> None:
    odd: tuple[object, ...] = ({"a": []}, [[5]], 0.5, 2**70, "\0")
    for name in answer.keys() - {"note"}:
        for value in odd:
            if isinstance(answer[name], str) and value == "\0" and name != "file":
                continue
            with pytest.raises(ValueError, match=r"\S"):
                parse(json.dumps(answer | {name: value}).encode(), kind)


SSH = """\
#!/bin/sh
case "$*" in *"exec cat"*) exec cat > /dev/null;; esac
cat {says}
exec cat > /dev/null
"""
Open = Callable[[bytes], Session]


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Opens a session with a machine whose `ssh` gives this output instead of the agent's."""
    (tmp_path / "agent").write_bytes(b"agent")
    made: list[Session] = []

    def open_session(says: bytes) -> Session:
        (tmp_path / "says").write_bytes(b"netwarp-dir /tmp/x\n" + says)
        (tmp_path / "ssh").write_text(SSH.format(says=tmp_path / "says"))
        (tmp_path / "ssh").chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
        login = Login("h1", Machine(host="h", interfaces={}), tmp_path, None)
        made.append(Session(tmp_path / "agent", login, threading.Event()))
        return made[-1]

    yield open_session
    for session in made:
        session.close()


GREETING = b'{"agent": "0.1.0"}\n'


@pytest.mark.parametrize("line", ODD, ids=lambda line: line[:10])
def test_a_session_says_which_node_spoke_nonsense(opened: Open, line: bytes) -> None:
    with pytest.raises(NodeError, match=r"^h1 \(h\): "):
        opened(line + b"\n")


@pytest.mark.parametrize(
    "sent",
    [
        b'{"file": "../../outside", "bytes": 1}\nx',
        b'{"file": "/etc/outside", "bytes": 1}\nx',
        b'{"file": "twice", "bytes": 1}\nx{"file": "twice", "bytes": 1}\ny',
        b'{"file": "a", "bytes": 0}\n{"file": "a/b", "bytes": 0}\n',
        b'{"file": "a", "bytes": -1}\n',
        b'{"file": "' + b"x" * 300 + b'", "bytes": 0}\n',
        b'{"file": ".", "bytes": 0}\n',
        b'{"restored": "no"}\n',
    ],
)
def test_files_come_only_into_the_runs_directory_and_once(opened: Open, sent: bytes, tmp_path: Path) -> None:
    place = tmp_path / "run"
    place.mkdir()
    with pytest.raises(NodeError, match=r"^h1 \(h\): "):
        opened(GREETING + sent).fetch(place)
    assert not (tmp_path / "outside").exists()
