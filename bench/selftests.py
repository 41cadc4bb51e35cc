"""Kernel selftests of networking (tools/testing/selftests/net of the kernel's source) in `netwarp exec`, each twice.

`python -m bench.selftests [TEST...] [--keep DIR] [--page FILE]` prints a table of the outcomes, and writes it as the
page docs/selftests.md. It exits with 1 if an outcome differs from the list below, or if the two runs of a test differ.
With --keep, existing runs are not made again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from netwarp.kernels.source import find_source
from netwarp.store.errors import StoreError
from netwarp.store.result import open_result
from netwarp.store.rundir import RunDir

from bench.command import NETWARP

SELFTESTS = "tools/testing/selftests"
WANTED = (f"*/{SELFTESTS}/net/*", f"*/{SELFTESTS}/kselftest*", f"*/{SELFTESTS}/lib.mk")
_VERDICTS = {0: "pass", 4: "skip"}
"""Exit codes of kselftest (tools/testing/selftests/kselftest.h); all others are failures."""

NO_END = "no end"
"""The outcome of a test that had to be ended, so that there is no verdict."""

_OWN_FAILURE = 3
"""netwarp's exit code for a run that did not complete."""

_TIME_LIMIT, _SHORT_TIME_LIMIT = "600s", "60s"
"""Limits of real time; the short one is for tests that do not end."""


@dataclass(frozen=True)
class Selftest:
    """A test's file in `net`, the C programs that it calls, its outcome here, and the reason if it does not pass."""

    file: str
    programs: tuple[str, ...] = ()
    verdict: str = "pass"
    reason: str = ""


@dataclass(frozen=True)
class Outcome:
    """A test's outcome in two runs."""

    test: Selftest
    verdict: str
    repeated: bool = False
    virtual_s: float | None = None
    real_s: float | None = None
    cpu_s: float | None = None

    @property
    def expected(self) -> bool:
        """Whether the outcome is that of the list."""
        return self.verdict == self.test.verdict and (self.repeated or self.verdict == NO_END)


_ENDLESS = "sends for a fixed time over a veth without a rate limit: copying takes no virtual time, so it never ends"
_CONNECTS = "opens connections over loopback for 30 s: they take no virtual time, so the 30 s never end"
_NO_TIME = "expects a departure time of now to have passed when the queue looks at it; no virtual time passes meanwhile"
_NO_MODULE_FILE = "asks `modinfo`, which looks for module files; the features that it needs are built in"
_ONE_PROCESSOR = "needs two processors; the machine has one"
_BPF = "needs clang for a BPF program"

TESTS: tuple[Selftest, ...] = (
    Selftest("arp_ndisc_evict_nocarrier.sh"),
    Selftest("bind_bhash.sh", ("bind_bhash",)),
    Selftest("cmsg_ipv6.sh", ("cmsg_sender",)),
    Selftest("cmsg_so_mark.sh", ("cmsg_sender",)),
    Selftest("cmsg_time.sh", ("cmsg_sender",)),
    Selftest("fib_nexthop_multiprefix.sh"),
    Selftest("fib_nexthop_nongw.sh"),
    Selftest("fib-onlink-tests.sh"),
    Selftest("fq_band_pktlimit.sh", ("cmsg_sender",)),
    Selftest("gro.sh", ("gro",)),
    Selftest("icmp.sh"),
    Selftest("ip6_gre_headroom.sh"),
    Selftest("ip_local_port_range.sh", ("ip_local_port_range",)),
    Selftest("ipv6_flowlabel.sh", ("ipv6_flowlabel", "ipv6_flowlabel_mgr")),
    Selftest("ndisc_unsolicited_na_test.sh"),
    Selftest("netns-name.sh"),
    Selftest("netns-sysctl.sh"),
    Selftest("reuseaddr_ports_exhausted.sh", ("reuseaddr_ports_exhausted",)),
    Selftest("reuseport_addr_any.sh", ("reuseport_addr_any",)),
    Selftest("route_localnet.sh"),
    Selftest("stress_reuseport_listen.sh", ("stress_reuseport_listen",)),
    Selftest("test_vxlan_fdb_changelink.sh"),
    Selftest("test_vxlan_under_vrf.sh"),
    Selftest("txtimestamp.sh", ("txtimestamp",)),
    Selftest("udpgso.sh", ("udpgso",)),
    Selftest("vlan_hw_filter.sh"),
    Selftest("vrf_strict_mode_test.sh"),
    Selftest("altnames.sh"),
    Selftest("sctp_vrf.sh", ("sctp_hello",)),
    Selftest("tcp_fastopen_backup_key.sh", ("tcp_fastopen_backup_key",)),
    Selftest("amt.sh", (), "skip", "the kernel here has no AMT (CONFIG_AMT)"),
    Selftest(
        "gre_gso.sh",
        (),
        "fail",
        "`ip tunnel` needs the device `ip6gre0`, without which the machine is started (`fb_tunnels=none`)",
    ),
    Selftest("srv6_end_dx4_netfilter_test.sh", (), "fail", "the kernel here has no SRv6 (CONFIG_IPV6_SEG6_LWTUNNEL)"),
    Selftest("so_txtime.sh", ("so_txtime",), "fail", _NO_TIME),
    Selftest("ip_defrag.sh", ("ip_defrag",), "fail", "`modprobe nf_defrag_ipv6` fails, though it is built in"),
    Selftest("test_blackhole_dev.sh", (), "fail", "is a kernel module"),
    Selftest("test_ingress_egress_chaining.sh", (), "skip", _NO_MODULE_FILE),
    Selftest("test_vxlan_nolocalbypass.sh", (), "skip", "needs a newer iproute2 than Debian 12's"),
    Selftest("rps_default_mask.sh", (), "skip", _ONE_PROCESSOR),
    Selftest("ipv6_route_update_soft_lockup.sh", (), "skip", _ONE_PROCESSOR),
    Selftest("udpgro_bench.sh", (), "fail", _BPF),
    Selftest("udpgro_frglist.sh", (), "fail", _BPF),
    Selftest("fin_ack_lat.sh", ("fin_ack_lat",), NO_END, _CONNECTS),
    Selftest("msg_zerocopy.sh", ("msg_zerocopy",), NO_END, _ENDLESS),
    Selftest("udpgso_bench.sh", ("udpgso_bench_tx", "udpgso_bench_rx"), NO_END, _ENDLESS),
)


def unpack(place: Path) -> Path:
    """Unpack the selftests from the source that kernels are built from into `place`, once; return their `net`."""
    archive = find_source()
    net = place / archive.name.removesuffix(".tar.xz") / SELFTESTS / "net"
    if not net.is_dir():
        place.mkdir(parents=True, exist_ok=True)
        tar = ["tar", "--use-compress-program=xz -T0", "-xf", str(archive), "--no-same-owner", "--wildcards", *WANTED]
        subprocess.run(tar, cwd=place, check=True)
    return net


def compile_programs(test: Selftest, net: Path) -> None:
    """Compile the programs that a test calls, as the Makefile there does. Raises CalledProcessError."""
    for name in test.programs:
        if not (net / name).exists():
            compiler = ["gcc", "-O2", "-w", "-I..", "-o", name, f"{name}.c", "-lpthread"]
            subprocess.run(compiler, cwd=net, check=True)


def run_twice(test: Selftest, net: Path, place: Path) -> Outcome:
    """Run a test in two machines; their results are in `place`."""
    compile_programs(test, net)
    made = []
    for name in ("one", "two"):
        if (run := _run(test, net, place / name)) is None:
            return Outcome(test, NO_END)
        made.append(run)
    digests = {(run.path / "digests.json").read_text() for run in made}
    status = made[0].status()
    return Outcome(
        test,
        " or ".join(sorted({_verdict(run) for run in made})),
        repeated=len(digests) == 1,
        virtual_s=status["duration_ns"] / 1e9,
        real_s=status["real_s"],
        cpu_s=status["cpu_s"],
    )


def _run(test: Selftest, net: Path, result: Path) -> RunDir | None:
    """Make a run, unless it exists; None if it had to be ended. Raises RuntimeError."""
    limit = _SHORT_TIME_LIMIT if test.verdict == NO_END else _TIME_LIMIT
    command = [str(NETWARP), "exec", "-o", str(result), "--time-limit", limit, "--", "bash", f"./{test.file}"]
    done = subprocess.run(command, cwd=net, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode == _OWN_FAILURE and "did not end within" in done.stderr:
        return None
    try:
        opened = open_result(result)
        (planned,) = opened.planned
        return opened.run(planned.id)
    except StoreError as error:
        raise RuntimeError(f"{test.file}: {done.stderr.strip()}") from error


def _verdict(run: RunDir) -> str:
    code = run.status()["exit_code"]
    return "fail" if code is None else _VERDICTS.get(code, "fail")


_HEAD = """\
# Kernel selftests in virtual time

[`netwarp exec`](exec.md) ran each of these unmodified selftests of the kernel's networking twice, in a fresh machine
each time: {passing} of the {tried} pass. `python -m bench.selftests --page docs/selftests.md` wrote this page. It takes
the tests from the package that the kernel is built from (`linux-source-6.12`) and compiles their programs.

*Virtual* is how long a test takes by its own clock: its sleeps and waits last as long there as on any machine. *CPU* is
the computing time of one run from boot to power-off, which on an idle machine is also the real time. *Real* is the real
time on the busy machine that wrote this page. *Same* says whether both runs printed and wrote the same bytes.

| test | result | same | virtual s | CPU s | real s | why it does not pass |
|---|---|---|--:|--:|--:|---|"""


def page(outcomes: Iterable[Outcome]) -> str:
    """The outcomes as a page, passing tests first."""
    rows = sorted(outcomes, key=lambda outcome: (outcome.verdict != "pass", outcome.test.file))
    passing = sum(row.verdict == "pass" for row in rows)
    lines = [_HEAD.format(passing=passing, tried=len(rows))]
    for row in rows:
        figures = (row.virtual_s, row.cpu_s, row.real_s)
        cells = " | ".join("–" if figure is None else f"{figure:.1f}" for figure in figures)
        same = "–" if row.verdict == NO_END else "yes" if row.repeated else "no"
        lines.append(f"| `{row.test.file}` | {row.verdict} | {same} | {cells} | {row.test.reason} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run all tests, or those that are named."""
    parser = argparse.ArgumentParser(prog="python -m bench.selftests", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("tests", nargs="*", metavar="TEST", help="file names, icmp.sh for instance; otherwise all")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="unpack and run here, and make only what is missing")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the page here")
    asked = parser.parse_args()
    if unknown := set(asked.tests) - {test.file for test in TESTS}:
        parser.error(f"not in the list: {', '.join(sorted(unknown))}")
    wanted = [test for test in TESTS if not asked.tests or test.file in asked.tests]
    with tempfile.TemporaryDirectory(prefix="netwarp-selftests-") as name:
        place = asked.keep.absolute() if asked.keep else Path(name)
        net = unpack(place)
        outcomes = []
        for test in wanted:
            outcome = run_twice(test, net, place / "results" / test.file)
            outcomes.append(outcome)
            remark = "" if outcome.expected else f"  NOT AS EXPECTED ({test.verdict}, both runs the same)"
            print(f"{test.file}: {outcome.verdict}{remark}", flush=True)
    text = page(outcomes)
    if asked.page:
        asked.page.write_text(text)
    else:
        print(text)
    return 0 if all(outcome.expected for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
