"""Address translation, classified from inside the guest as STUN clients do (RFC 4787, RFC 5780)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from e2e_command import NETWARP, environment

NETWORK = """
name = "nat"

[nodes]
a = {{}}
b = {{}}
s1 = {{}}
s2 = {{}}
home = {{ forward = true, nat = {nat} }}
core = {{ forward = true }}

[links.first]
ends = ["a", "home"]
rate = "100mbit"
[links.second]
ends = ["b", "home"]
rate = "100mbit"
[links.wan]
ends = ["home", "core"]
rate = "10mbit"
delay = "10ms"
[links.to-s1]
ends = ["core", "s1"]
rate = "100mbit"
[links.to-s2]
ends = ["core", "s2"]
rate = "100mbit"
"""
PROBE = '''
"""Prints what the translator does, as JSON. Runs on `a`; it opens sockets in the other nodes."""
import ctypes, json, os, socket, time

libc = ctypes.CDLL(None, use_errno=True)

def opened(node, kind=socket.SOCK_DGRAM, port=0):
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{node}", os.O_RDONLY)
    assert libc.setns(there, 0x40000000) == 0
    made = socket.socket(socket.AF_INET, kind)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    assert libc.setns(own, 0x40000000) == 0
    os.close(own), os.close(there)
    made.bind(("0.0.0.0", port))
    made.settimeout(1)
    return made

def heard(receiver):
    try:
        return receiver.recvfrom(100)
    except TimeoutError:
        return None

def seen(sender, receiver, address):
    """The external endpoint that a receiver sees."""
    sender.sendto(b"request", address)
    got = heard(receiver)
    return got and got[1]

def arrives(sender, receiver, address, words):
    sender.sendto(words, address)
    got = heard(receiver)
    return got is not None and got[0] == words

S1, S2 = (socket.gethostbyname(name) for name in ("s1", "s2"))
servers = {(host, port): opened(host, port=port) for host in ("s1", "s2") for port in (7000, 7001)}
address = {"s1": S1, "s2": S2}
found = {}

client = opened("a", port=5000)
endpoints = {key: seen(client, server, (address[key[0]], key[1])) for key, server in servers.items()}
first = endpoints["s1", 7000]
if first[1] != endpoints["s1", 7001][1]:
    found["mapping"] = "address-and-port-dependent"
elif first[1] != endpoints["s2", 7000][1]:
    found["mapping"] = "address-dependent"
else:
    found["mapping"] = "endpoint-independent"
found["external"] = sorted({endpoint[0] for endpoint in endpoints.values()})
found["preserved"] = first[1] == 5000
found["port"] = first[1]
found["low"] = any(endpoint[1] < 1024 for endpoint in endpoints.values())

client = opened("a", port=5001)
outside = seen(client, servers["s1", 7000], (S1, 7000))
from_known = arrives(servers["s1", 7000], client, outside, b"known")
from_port = arrives(servers["s1", 7001], client, outside, b"port")
from_address = arrives(servers["s2", 7000], client, outside, b"address")
assert from_known
found["filtering"] = {(False, False): "address-and-port-dependent", (True, False): "address-dependent",
                      (True, True): "endpoint-independent"}[from_port, from_address]
answered = arrives(client, servers["s2", 7001], (S2, 7001), b"answer")
assert answered, "what was refused before does not hinder what is sent later"

# The whole inside is hidden: neither its addresses nor unused ports answer.
direct = opened("s1")
found["exposed"] = arrives(direct, client, (socket.gethostbyname("a"), 5001), b"direct")

# Hairpinning: a sends to the external endpoint of b, which has sent to that of a.
left, right = opened("a", port=5002), opened("b", port=5003)
left_out, right_out = seen(left, servers["s1", 7000], (S1, 7000)), seen(right, servers["s1", 7000], (S1, 7000))
right.sendto(b"punch", left_out)
heard(left)
left.sendto(b"hairpin", right_out)
got = heard(right)
if got is not None and got[0] == b"punch":
    got = heard(right)
found["hairpin"] = got is not None and got[0] == b"hairpin"
found["hairpin from"] = got and got[1][0]

# TCP, to a server and back through a hole.
listening = opened("s2", socket.SOCK_STREAM, 9000)
listening.listen()
stream = opened("a", socket.SOCK_STREAM)
stream.settimeout(5)
stream.connect((S2, 9000))
accepted, peer = listening.accept()
accepted.sendall(b"welcome")
found["tcp"] = peer[0] in found["external"] and stream.recv(100) == b"welcome"

# A mapping that is not renewed from inside ends.
client = opened("a", port=5004)
outside = seen(client, servers["s1", 7000], (S1, 7000))
found["alive"] = {}
time.sleep(TIMEOUT - 2)
client.sendto(b"renew", (S1, 7000))
heard(servers["s1", 7000])
time.sleep(TIMEOUT - 2)
found["alive"]["renewed"] = arrives(servers["s1", 7000], client, outside, b"late")
time.sleep(TIMEOUT + 2)
found["alive"]["over"] = arrives(servers["s1", 7000], client, outside, b"too late")
print(json.dumps(found))
'''
EI, AD, APD = "endpoint-independent", "address-dependent", "address-and-port-dependent"
PRESETS = {
    f'"{EI}"': (EI, EI, True, True),
    f'"{AD}"': (AD, AD, False, True),
    f'"{APD}"': (APD, APD, False, True),
    f'{{ filtering = "{AD}", ports = "random" }}': (EI, AD, False, True),
    "{ hairpinning = false }": (EI, APD, True, False),
    f'{{ mapping = "{APD}", filtering = "{EI}" }}': (APD, EI, False, True),
    f'{{ mapping = "{AD}" }}': (AD, APD, False, True),
}


def shell(folder: Path, nat: str, script: str, seed: int = 1) -> subprocess.CompletedProcess[str]:
    """Run a script on `a`, in a network with this translation."""
    folder.mkdir(exist_ok=True)
    (folder / "nat.toml").write_text(NETWORK.format(nat=nat))
    words = [str(NETWARP), "shell", str(folder / "nat.toml"), "--seed", str(seed)]
    return subprocess.run(words, input=script, env=environment(), capture_output=True, text=True, check=False)


def probed(folder: Path, nat: str, timeout_s: int = 300, seed: int = 1) -> dict[str, object]:
    """The probe's findings on a network with this translation."""
    script = PROBE.replace("TIMEOUT", str(timeout_s))
    answer = shell(folder, nat, f"python3 - <<'PROBE'\n{script}\nPROBE\n", seed)
    assert answer.returncode == 0, answer.stderr + answer.stdout
    return dict(json.loads(answer.stdout.splitlines()[-1]))


@pytest.mark.parametrize("nat", PRESETS)
def test_each_behaviour_is_what_a_client_finds(nat: str, tmp_path: Path) -> None:
    mapping, filtering, preserved, hairpin = PRESETS[nat]
    found = probed(tmp_path, nat)
    assert (found["mapping"], found["filtering"]) == (mapping, filtering)
    assert found["external"] == ["10.0.2.1"], "the address of the link `wan`"
    assert found["preserved"] is preserved and not found["low"]
    # Behind a mapping that depends on the remote address, the hole that is punched is another one.
    reaches = hairpin and (EI in (mapping, filtering))
    assert found["hairpin"] is reaches and found["hairpin from"] == ("10.0.2.1" if reaches else None)
    assert found["tcp"] and not found["exposed"]
    assert found["alive"] == {"renewed": True, "over": False}


def test_the_seed_and_the_timeout(tmp_path: Path) -> None:
    nat = '{ ports = "random", timeout = "30s", outside = "wan" }'
    first, again, other = (probed(tmp_path, nat, 30, seed) for seed in (1, 1, 2))
    assert first == again and first["port"] != other["port"]
    assert first["alive"] == {"renewed": True, "over": False}


@pytest.mark.parametrize(
    ("nat", "words"),
    [
        ('"symmetric"', "symmetric"),
        ('{ outside = "wna" }', 'has no link "wna" (did you mean "wan"?)'),
        (f'{{ mapping = "{AD}", ports = "preserved" }}', 'write ports = "random"'),
        ('{ timeout = "1500ms" }', "whole seconds"),
    ],
)
def test_what_cannot_be_is_refused(nat: str, words: str, tmp_path: Path) -> None:
    answer = shell(tmp_path, nat, "true\n")
    assert answer.returncode != 0 and words in " ".join(answer.stderr.split()), answer.stderr
