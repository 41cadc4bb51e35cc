"""Real applications as flows of a scenario: their environment, their files, and their metrics."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

import netwarp
import pytest
from e2e_command import succeed
from e2e_runs import Runs
from e2e_traffic import flow, pair, values

MSS_BYTES, FRAME_BYTES = 1448, 1514

NGINX = (
    "mkdir www; head -c 5000000 /dev/zero > www/file; printf 'pid /run/nginx.pid; error_log stderr; events {} "
    "http { access_log off; server { listen 8080; root %s/www; } }' $PWD > nginx.conf; "
    "exec nginx -g 'daemon off;' -c $PWD/nginx.conf"
)
CURL = (
    "set -e; test -e /lab/web-server/nginx.conf; test $HOME = /root; script -qec tty /dev/null | grep -q /dev/pts/; "
    "test -c /dev/net/tun; echo x > /etc/netwarp-was-here; echo x > /usr/netwarp-was-here; ip netns exec r1 true; "
    "pwd; curl -sS -o got -w '%{json}' http://{destination}:8080/file; rm got"
)


def test_nginx_and_curl_have_a_machine_and_metrics(tmp_path: Path) -> None:
    """10 Mbit/s of frames of 1514 bytes; until the window fills the path of 20 ms, it is idle for some round trips."""
    web = flow(
        *("web", "command", 'ready = "port 8080"', 'start = "1s"', 'duration = "4s"'),
        *(f'server = ["sh", "-c", {json.dumps(NGINX)}]', f'client = ["sh", "-c", {json.dumps(CURL)}]'),
    )
    (tmp_path / "web.toml").write_text(pair(web, duration="7s", delay="10ms", router=True))
    succeed("run", "web.toml", "--no-plots", "-o", "result", cwd=tmp_path)
    (run,) = (tmp_path / "result/runs").iterdir()
    place, told = (run / "web-client.out").read_text().split("\n", 1)
    assert place == "/lab/web-client"
    measured = json.loads(told)
    assert measured["size_download"] == 5_000_000
    assert measured["time_connect"] == pytest.approx(0.020, abs=0.001)
    least_s = 5_000_000 / MSS_BYTES * FRAME_BYTES * 8 / 10e6
    assert least_s < measured["time_total"] < least_s + 10 * 0.020
    assert sorted(str(p.relative_to(run / "files")) for p in (run / "files").rglob("*") if p.is_file()) == [
        "web-server/nginx.conf",
        "web-server/www/file",
    ]
    assert not Path("/etc/netwarp-was-here").exists()
    assert not Path("/usr/netwarp-was-here").exists()
    assert "1 of 1 runs are identical" in succeed("rerun", "result", cwd=tmp_path).out


def test_a_script_whose_interpreter_lies_in_the_home_directory(tmp_path: Path) -> None:
    """Nothing in the command names it. The home is empty otherwise, and writable."""
    if os.geteuid() != 0:
        pytest.skip("a lab's home is /root, of which only root may read anything on the host")
    with tempfile.TemporaryDirectory(prefix="netwarp-", dir="/root") as name:
        (Path(name) / "shell").symlink_to("/bin/sh")
        script = tmp_path / "script.sh"
        script.write_text(f"#!{name}/shell\ncd; echo x > mine; ls -A\n")
        script.chmod(0o755)
        text = flow("own", "command", f'client = ["{script}"]')
        (tmp_path / "own.toml").write_text(pair(text, duration="2s"))
        succeed("run", "own.toml", "--no-plots", "-o", "result", "--read", name, cwd=tmp_path)
        (run,) = (tmp_path / "result/runs").iterdir()
        names = (run / "own-client.out").read_text().split()
        assert {"mine", Path(name).name} <= set(names)
        granted = (Path(sys.prefix), Path(sys.base_prefix), Path(netwarp.__file__), tmp_path, Path(name))
        below = {path.relative_to("/root").parts[0] for path in granted if path.is_relative_to("/root")}
        assert set(names) <= {"mine", *below}
        assert not Path("/root/mine").exists()


RECEIVER = """
import socket
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.bind(("", 9000))
own.settimeout(12)
came = 0
while True:
    try:
        own.recv(4000)
    except TimeoutError:
        break
    came += 1
    own.settimeout(0.5)
print(came, flush=True)
"""
SENDER = """
import socket, sys, time
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(1000):
    own.sendto(bytes(int(sys.argv[2])), (sys.argv[1], 9000))
    time.sleep(0.001)
time.sleep(1)
"""


def datagrams(place: Path, size: int, tail: str = "") -> str:
    """A scenario of 1000 datagrams, a millisecond apart, over 5 Mbit/s with a short queue and loss."""
    (place / "receiver.py").write_text(RECEIVER)
    (place / "sender.py").write_text(SENDER)
    own = flow(
        *("own", "command", f'server = ["python3", "{place}/receiver.py"]'),
        f'client = ["python3", "{place}/sender.py", "{{destination}}", "{size}"]',
    )
    return pair(own, rate="5mbit", queue="pfifo limit 20", link='loss = "5%"', duration="4s", router=True, tail=tail)


def test_what_a_programs_datagrams_lose_is_counted(runs: Runs, tmp_path: Path) -> None:
    """In the queue and on the wire: exactly as many datagrams as their receiver misses."""
    run = runs(datagrams(tmp_path, 1000), "--read", str(tmp_path))
    came = int((run.path / "own-server.out").read_text())
    assert 500 < came < 700
    assert values(run, "own")["loss_pct"] == pytest.approx(100 * (1000 - came) / 1000, abs=1e-9)


def test_of_fragmented_datagrams_no_loss_is_told(runs: Runs, tmp_path: Path) -> None:
    run = runs(datagrams(tmp_path, 3000), "--read", str(tmp_path))
    assert int((run.path / "own-server.out").read_text()) > 0
    assert values(run, "own").get("loss_pct") is None


IRTT = ["irtt", "client", "--tstamp=midpoint", "-i", "20ms", "-d", "4s", "-q", "-o", "irtt.json", "{destination}"]


def test_irtt_between_nodes(runs: Runs) -> None:
    """Its server starts before the run, in a lab that is built at once: Go ends where the clock is at 0."""
    lines = ('server = ["irtt", "server"]', f"client = {json.dumps(IRTT)}")
    run = runs(pair(flow("probe", "command", *lines), duration="6s"))
    stats = json.loads((run.path / "files/probe-client/irtt.json").read_text())["stats"]
    assert stats["rtt"]["min"] == pytest.approx(10.1e6, rel=0.02)
    assert stats["packets_received"] == stats["packets_sent"] == 200
    assert values(run, "probe")["loss_pct"] == 0


SSHD = (
    "ssh-keygen -q -t ed25519 -N '' -f host; ssh-keygen -q -t ed25519 -N '' -f id; mkdir -p /run/sshd; "
    # The scenario may not read the host's.
    "rm -f /etc/hosts.allow /etc/hosts.deny /etc/shadow; echo 'root:*:20000::::::' > /etc/shadow; "
    "exec /usr/sbin/sshd -f /dev/null -D -e -o HostKey=$PWD/host -o UsePAM=no -o StrictModes=no "
    "-o AuthorizedKeysFile=$PWD/id.pub -o PidFile=/run/sshd.pid"
)
LOGIN = "ssh -i /lab/login-server/id -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null root@{destination}"


def test_ssh_between_nodes(runs: Runs) -> None:
    lines = (
        f'server = ["sh", "-c", {json.dumps(SSHD)}]',
        f"""client = ["sh", "-c", {json.dumps(f"{LOGIN} head -c 1000000 /dev/zero | wc -c; {LOGIN} -tt tty")}]""",
    )
    run = runs(pair(flow("login", "command", *lines, 'ready = "port 22"'), duration="4s", delay="10ms"))
    assert (run.path / "login-client.out").read_text().split() == ["1000000", "/dev/pts/0"]
    assert 20 <= values(run, "login")["rtt_ms_mean"] < 40
