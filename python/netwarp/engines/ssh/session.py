"""A session with the agent on one node: an SSH connection, orders in JSON lines, and the records that come back."""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import json
import os
import selectors
import shlex
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netwarp.engines.programs import digest_of
from netwarp.engines.ssh.answers import A, Failed, File, Greeting, Restored, parse
from netwarp.engines.ssh.inventory import Machine

_CONNECT_S = 15
_LOGIN_S = 60.0
_UPLOAD_S = 300.0
_ANSWER_S = 60.0
_END_S = 15.0
_BEAT_S = 1.0
"""The interval of signs of life to the agent (agent/src/node/input.rs)."""
_DIR = b"netwarp-dir "
_MAX_LINE = 64 << 20
_NO_DIGEST, _NO_DIRECTORY = 93, 91

_KEEPER = """\
umask 077
for old in {directory}/netwarp-??????????/keeper; do
  [ -O "$old" ] && ! kill -0 "$(cat "$old")" 2>/dev/null && rm -rf "${{old%/keeper}}"
done
d=$(mktemp -d {directory}/netwarp-XXXXXXXXXX) || exit {no_directory}
trap 'rm -rf "$d"' EXIT
trap : HUP INT PIPE TERM
echo $$ > "$d/keeper"
echo "netwarp-dir $d"
read -r word || exit 0
[ "$word" = go ] || exit 0
case $(sha256sum "$d/netwarp-agent") in {digest}*) ;; *) exit {no_digest} ;; esac
chmod 700 "$d/netwarp-agent" || exit 1
{root}"$d/netwarp-agent" node --dir="$d" --connection="$SSH_CONNECTION" --whose={whose} --clock="$NETWARP_TEST_CLOCK"
"""
"""The script that a login runs: it removes directories of scripts that were killed, makes one for the agent, starts the
agent, and removes the directory however the agent ends."""


class NodeError(Exception):
    """An error on a node, in a sentence that begins with its name."""


class SilentError(NodeError):
    """A node that has not answered in time."""


class Interrupted(Exception):
    """The waiting thread has been told to stop."""


@dataclass(frozen=True)
class Login:
    """A login to a node: its machine, the directory for the connection's socket, a file for `ssh -F`."""

    node: str
    machine: Machine
    place: Path
    config: str | None


class Session:
    """One connection to one node. Several threads may give orders; one thread at a time waits for answers."""

    def __init__(self, agent: Path, login: Login, cancelled: threading.Event) -> None:
        """Log in, copy the agent, and start it. Raises NodeError, Interrupted."""
        self.node = login.node
        self._machine, self._cancelled, self._config = login.machine, cancelled, login.config
        # Its path must be short (sun_path in unix(7)), whatever the node is called.
        self._socket = login.place / hashlib.sha256(login.node.encode()).hexdigest()[:8]
        self._buffer = bytearray()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the session
        self._process = subprocess.Popen(
            self._ssh("ControlMaster=yes", command=self._keeper(agent)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        assert self._process.stdin and self._process.stdout
        self._input, self._output = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._output, False)
        self._writing, self._closed = threading.Lock(), threading.Event()
        self._beat = threading.Thread(target=self._keep_alive, daemon=True)
        try:
            self._upload(agent)
        except BaseException:
            self.close()
            raise

    def _ssh(self, *more: str, command: str) -> list[str]:
        machine = self._machine
        options = [
            "BatchMode=yes",
            "StrictHostKeyChecking=yes",
            f"ControlPath={self._socket}",
            "ControlPersist=no",
            "ClearAllForwardings=yes",
            "ForwardAgent=no",
            "ForwardX11=no",
            "PermitLocalCommand=no",
            "RemoteCommand=none",
            "RequestTTY=no",
            f"ConnectTimeout={_CONNECT_S}",
            "ServerAliveInterval=5",
            "ServerAliveCountMax=3",
            "LogLevel=ERROR",
            *more,
        ]
        words = ["ssh", *(["-F", self._config] if self._config else [])]
        words += [part for option in options for part in ("-o", option)]
        words += ["-p", str(machine.port)] if machine.port else []
        words += ["-l", machine.user] if machine.user else []
        return [*words, "--", machine.host, command]

    def _keeper(self, agent: Path) -> str:
        whose = f"since {time.strftime('%Y-%m-%d %H:%M:%S')}, by {getpass.getuser()} on {socket.gethostname()}"
        script = _KEEPER.format(
            directory=shlex.quote(self._machine.directory),
            digest=digest_of(agent),
            whose=shlex.quote(whose),
            root="sudo -n -- " if self._machine.root == "sudo" else "",
            no_directory=_NO_DIRECTORY,
            no_digest=_NO_DIGEST,
        )
        return f"exec sh -c {shlex.quote(script)}"

    def _upload(self, agent: Path) -> None:
        line = self._line(_LOGIN_S)
        while not line.startswith(_DIR):  # skip what a login shell prints by itself
            line = self._line(_LOGIN_S)
        directory = line.removeprefix(_DIR).decode(errors="replace").strip()
        target = shlex.quote(f"{directory}/netwarp-agent")
        with agent.open("rb") as file:
            try:
                done = subprocess.run(
                    self._ssh("ControlMaster=no", command=f"exec cat > {target}"),
                    stdin=file,
                    capture_output=True,
                    check=False,
                    timeout=_UPLOAD_S,
                )
            except subprocess.TimeoutExpired:
                raise self._error(f"the agent was not copied to {directory} within {_UPLOAD_S:g} s") from None
        if done.returncode != 0:
            why = done.stderr.decode(errors="replace").strip() or f"exit status {done.returncode}"
            raise self._error(f"the agent cannot be copied to {directory}: {why} (the inventory's `directory`)")
        self._write(b"go\n")
        self.answer(Greeting)
        self._beat.start()

    def _keep_alive(self) -> None:
        """Send signs of life, also during the wait for other nodes."""
        with contextlib.suppress(OSError):  # the thread that waits for an answer reports the error
            while not self._closed.wait(_BEAT_S):
                with self._writing:
                    if not self._closed.is_set():
                        os.write(self._input, b'{"do": "alive"}\n')

    def send(self, order: str, **fields: Any) -> None:
        """Give an order. Raises NodeError."""
        self._write(json.dumps({"do": order, **fields}).encode() + b"\n")

    def answer(self, kind: type[A], seconds: float = _ANSWER_S) -> A:
        """Return the next answer, of a kind of answers.py or one of several. Raises NodeError, also if the agent
        reports a failure; SilentError if none came in time; Interrupted."""
        line = self._line(seconds)
        try:
            answer = parse(line, kind)
        except ValueError as error:
            raise self._error(f"it sent something that is not the agent's protocol ({error}): {line[:200]!r}") from None
        if isinstance(answer, Failed):
            raise self._error(answer.failed)
        return answer

    def ask(self, kind: type[A], order: str, **fields: Any) -> A:
        """Give an order and wait for its answer."""
        self.send(order, **fields)
        return self.answer(kind)

    def fetch(self, directory: Path) -> Sequence[str]:
        """Restore the machine, get the run's files, and return what could not be restored. Raises NodeError."""
        self.send("fetch")
        while isinstance(answer := self.answer(File | Restored), File):  # type: ignore[arg-type]
            self._fetch_file(directory, answer)
        return answer.restored

    def _fetch_file(self, directory: Path, sent: File) -> None:
        path = directory / sent.file
        if not path.resolve().is_relative_to(directory.resolve()):
            raise self._error(f"it sent a file that does not belong to the run: {sent.file}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                left = sent.bytes
                while left:
                    part = self._take(left)
                    file.write(part)
                    left -= len(part)
        except OSError as error:
            raise self._error(f"its file {sent.file} cannot be kept here: {error.strerror}") from None

    def close(self) -> None:
        """End the session: when this returns, the machine has been restored, or it is out of reach."""
        assert self._process.stdin and self._process.stdout
        self._closed.set()
        with contextlib.suppress(OSError), self._writing:
            self._process.stdin.close()
        deadline = time.monotonic() + _END_S
        while self._process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                while os.read(self._output, 1 << 16):
                    pass
            time.sleep(0.02)
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._process.stdout.close()
        self._errors.close()
        self._socket.unlink(missing_ok=True)

    def _write(self, content: bytes) -> None:
        try:
            with self._writing:
                if self._closed.is_set():
                    raise OSError
                while content:
                    content = content[os.write(self._input, content) :]
        except OSError:
            raise self._gone() from None

    def _line(self, seconds: float) -> bytes:
        deadline = time.monotonic() + seconds
        begin = 0
        while (end := self._buffer.find(b"\n", begin)) < 0:
            begin = len(self._buffer)
            if begin > _MAX_LINE:
                raise self._error("it sent an endless line")
            self._fill(deadline)
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def _take(self, most: int) -> bytes:
        if not self._buffer:
            self._fill(time.monotonic() + _ANSWER_S)
        part = bytes(self._buffer[:most])
        del self._buffer[:most]
        return part

    def _fill(self, deadline: float) -> None:
        """Wait for input."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._output, selectors.EVENT_READ)
            while not selector.select(0.1):
                if self._cancelled.is_set():
                    raise Interrupted
                if time.monotonic() > deadline:
                    raise SilentError(str(self._error("it does not answer")))
        try:
            got = os.read(self._output, 1 << 16)
        except OSError:
            got = b""
        if not got:
            raise self._gone()
        self._buffer += got

    def _gone(self) -> NodeError:
        """The error that says why the connection has ended."""
        try:
            status = self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            status = None
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        said = "; ".join(line.strip() for line in lines if line.strip() and not set(line) <= set("@ "))
        if status == _NO_DIRECTORY:
            return self._error(
                f"no directory can be made in {self._machine.directory} (the inventory's `directory`): {said}"
            )
        if status == _NO_DIGEST:
            return self._error("the agent that arrived there is not the one that was sent (its SHA-256 differs)")
        if self._machine.root == "sudo" and "sudo" in said:
            return self._error(f"sudo -n does not make the user root there (a password, or no sudo at all): {said}")
        if said and status == 255:
            return self._error(f"ssh: {said}")
        return self._error(said or f"the connection ended (ssh: exit status {status})")

    def _error(self, what: str) -> NodeError:
        return NodeError(f"{self.node} ({self._machine.host}): {what}")
