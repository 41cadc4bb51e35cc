"""`netwarp show` prints what is done: its commands, run in the guest, build exactly the network of the run.

A `command` flow runs them there, in its own mount namespace so that the names of the namespaces are free, and compares
the output of sysctl, ip, ethtool and tc for the agent's network and for that of the commands.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from e2e_command import netwarp
from e2e_runs import Runs

SCENARIO = """\
name = "shown"
duration = "30s"
[record]
exact = false  # the recorder knows interfaces by their indices, which the second network has as well
[nodes]
h1 = {{ sysctl = {{ "net.ipv4.tcp_ecn" = 1, "net.ipv4.conf.all.accept_redirects" = 1 }} }}
r1 = {{ forward = true, sysctl = {{ "net.ipv4.conf.all.send_redirects" = 0 }} }}
h2 = {{}}
[links.access]
ends = ["h1", "r1"]
rate = "100mbit"
mtu = 1400
offload = true
[links.bottleneck]
ends = ["r1", "h2"]
rate = {{ forward = "10mbit", reverse = "3mbit" }}
delay = "10000100ns"
jitter = {{ forward = "1ms 25% distribution normal" }}
loss = {{ forward = "gemodel 1% 10% 70% 0.1%", reverse = "0.5% 20%" }}
queue = "fq_codel limit 100 target 5ms"
[flows.optional]
from = "h2"
to = "h1"
tool = "bulk"
count = 2
initial_window = 20
ecn = true
[flows.near]
from = "h1"
to = "r1"
tool = "bulk"
family = "ipv6"
delayed_acks = false
[flows.check]
from = "h1"
to = "h2"
tool = "command"
client = ["sh", "{script}"]
"""

SCRIPT = r"""
set -e
facts() {
    out=$1
    mkdir -p "$out"
    ulimit -n > "$out/ulimit"
    for ns in wire h1 r1 h2; do
        run="ip netns exec $ns"
        # Not what the kernel counts or draws by itself.
        drawn='random\.|-nr =|-state =|stable_secret|pid'
        $run sysctl -a 2> /dev/null | grep -v -E "$drawn" > "$out/$ns.sysctl"
        # The hardware addresses of wires are drawn, and not shown.
        mac=$([ "$ns" = wire ] && echo 's/link.ether [^ ]*//' || echo)
        $run ip -details link show | sed "$mac" > "$out/$ns.link"
        $run ip address show | sed "$mac" > "$out/$ns.address"
        $run ip -4 route show table all > "$out/$ns.route4"
        $run ip -6 route show table all > "$out/$ns.route6"
        $run ip -4 rule show > "$out/$ns.rule4"
        $run ip -6 rule show > "$out/$ns.rule6"
        $run ip neigh show | sort > "$out/$ns.neigh"
        for device in $($run sh -c "cd /sys/class/net && ls -d */" | tr -d /); do
            $run ethtool -k "$device" > "$out/$ns.$device.features"
            $run tc -details qdisc show dev "$device" | sed 's/ seed [0-9]*//' > "$out/$ns.$device.qdisc"
            $run tc -details class show dev "$device" | sed '/class fq_codel/d' > "$out/$ns.$device.class"
            $run tc -details filter show dev "$device" ingress > "$out/$ns.$device.filter"
        done
    done
}
facts /run/done
if [ "$1" != inner ]; then
    # Settings of the whole machine are those of its first network namespace.
    exec nsenter --net=/proc/1/ns/net unshare --mount sh "$0" inner
fi
mount -t tmpfs tmpfs /run/netns
. "$(dirname "$0")/commands" > /run/printed
facts /run/shown
cd /run
ls -R done > done.names; ls -R shown | sed 's/^shown/done/' > shown.names
diff done.names shown.names
diff -r done shown
grep -h -c . /run/done/h1.sysctl /run/done/wire.w12.qdisc /run/done/r1.eth1.class
echo same
"""


def test_what_is_shown_is_what_is_done(runs: Runs, tmp_path: Path) -> None:
    script = tmp_path / "compare.sh"
    script.write_text(SCRIPT)
    text = SCENARIO.format(script=script)
    (tmp_path / "shown.toml").write_text(text)
    shown = netwarp("show", tmp_path / "shown.toml")
    assert shown.code == 0, shown.err
    lines = [line.strip() for line in shown.out.partition("As commands:")[2].splitlines()]
    (tmp_path / "commands").write_text("\n".join(lines) + "\n")
    run = runs(text, "--read", str(tmp_path), status="ok")
    told = (run.path / "check-client.out").read_text()
    assert told.splitlines()[-1:] == ["same"], told + (run.path / "check-client.err").read_text()
    counts = [int(count) for count in told.splitlines()[:3]]
    assert counts[0] > 500 and all(counts), "there was something to compare"


def test_every_sysctl_that_is_set_is_shown(runs: Runs, tmp_path: Path) -> None:
    """Those of the whole machine are the same for both networks above: they are read back from it."""
    look = "sysctl -a; nsenter --net=/proc/1/ns/net sysctl net.ipv4.tcp_mem net.ipv4.udp_mem; ulimit -n"
    text = SCENARIO.format(script="-c").replace('"sh", "-c"', f'"sh", "-c", "{look}"')
    (tmp_path / "shown.toml").write_text(text)
    told = (runs(text).path / "check-client.out").read_text().splitlines()
    found = {name.strip(): " ".join(value.split()) for name, _, value in (line.partition(" = ") for line in told)}
    lab = json.loads((runs(text).path / "run.json").read_text())["lab"]
    shown = netwarp("show", tmp_path / "shown.toml").out
    for name, value in {**lab["machine"]["sysctl"], **lab["nodes"][0]["sysctl"]}.items():
        assert f"{name}={value}" in shown
        assert found[name] == value
    assert f"ulimit -n {told[-1]}" in shown


@pytest.mark.parametrize(("control", "hint"), [("bbr2", "BBRv2 was replaced"), ("vivace", "program:vivace.py")])
def test_a_control_that_the_kernel_lacks_is_noted_with_the_words_of_the_refusal(
    control: str, hint: str, tmp_path: Path
) -> None:
    setting = ("--set", f"flows.bulk.cc={control}")
    shown = netwarp("show", "bufferbloat", *setting)
    refused = netwarp("run", "bufferbloat", *setting, "-o", tmp_path / "result")
    assert shown.code == 0 and refused.code == 2
    assert hint in refused.words and refused.words.removeprefix("error: ") in shown.words
    assert "note" not in netwarp("show", "bufferbloat").words
