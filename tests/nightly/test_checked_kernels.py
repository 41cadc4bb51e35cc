"""Kernels that check themselves (`--config debug`, `--config kcov`): they find errors, and do not change results."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest
from netwarp.kernels import Kernel
from netwarp.kernels.build import build
from netwarp.modules.named import shipped_modules
from netwarp.store.result import open_result
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import RunDir
from nightly_command import netwarp

KERNELS = ("stock", "debug")
TEMPLATE = shipped_modules()["tcp_template.c"].read_text()
COUNTING = "	t->acked += rs->acked_sacked;"
"""The line of the template that runs after each ACK."""


@pytest.fixture(scope="module")
def debug() -> Kernel:
    """The kernel with KASAN, lockdep and everything else of `debug`."""
    return build(name="debug", config=("debug",))


@pytest.mark.usefixtures("debug")
@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ("bufferbloat", ["--set", "duration=10s", "--set", "links.bottleneck.queue=pfifo limit 100"]),
        ("three-node-builtin", ["--case", "bwNORMAL+impairments_10_bbr_fq", "--seeds", "1"]),
        ("mitigate", ["--case", "RED", "--case", "CAKE"]),
        ("mobile", ["--set", "duration=10s"]),
        (
            "bufferbloat",
            ["--set", "duration=5s", "--set", "run.cpus=2", "--set", "links.bottleneck.queue=pfifo limit 100"],
        ),
        ("l4s", ["--set", "duration=5s", "--set", "warmup=2s"]),
    ],
)
def test_a_checked_kernel_gives_the_same_trajectory(tmp_path: Path, scenario: str, words: list[str]) -> None:
    patience = ("--set", "run.time_limit=60min", "--no-plots")
    done = netwarp("run", scenario, *words, *patience, "--sweep", "kernel=stock,debug", "-o", tmp_path / "r")
    assert done.returncode in (0, 1), done.stderr + " (1: an expectation of the whole duration does not hold)"
    result = open_result(tmp_path / "r")
    pairs: dict[tuple[str, ...], dict[str, RunDir]] = defaultdict(dict)
    for planned in result.planned:
        others = tuple(f"{axis}={value}" for axis, value in planned.point.items() if axis != "kernel")
        run = pairs[*others, str(planned.seed)][str(planned.point["kernel"])] = result.run(planned.id)
        assert run.status()["status"] == RunStatus.OK, run.status()
    for pair in pairs.values():
        stock, checked = (
            {path.name: path for path in run.path.glob("*.arrows")} for run in (pair[kernel] for kernel in KERNELS)
        )
        assert set(stock) == set(checked) >= {"acks.arrows", "packets.arrows"}
        other = [name for name, path in stock.items() if path.read_bytes() != checked[name].read_bytes()]
        assert not other


def failure(place: Path, kernel: str, change: str, declared: str = "") -> str | None:
    """The reason of a run's failure with the template, one line of which is replaced."""
    text = TEMPLATE.replace('"template"', '"mine"').replace(COUNTING, f"{change}\n{COUNTING}")
    file = place / "tcp_mine.c"
    file.write_text(text.replace("static void template_init", f"{declared}\nstatic void template_init", 1))
    words = ["--set", f"flows.bulk.cc=file:{file}", "--set", "duration=4s", "--kernel", kernel, "--no-plots"]
    place = place / kernel
    netwarp("run", "bufferbloat", *words, "--set", "links.bottleneck.queue=pfifo limit 100", "-o", place)
    (planned,) = open_result(place).planned
    status = open_result(place).run(planned.id).status()
    return None if status["status"] == RunStatus.OK else f"{status['status']}: {status['reason']}"


@pytest.mark.usefixtures("debug")
def test_a_use_after_free_is_found(tmp_path: Path) -> None:
    """Other kernels do not see it: the byte still has its old value."""
    freed = "	{ volatile u8 *gone = kmalloc(64, GFP_ATOMIC); kfree((void *)gone); t->losses += gone[8] & 0; }"
    assert failure(tmp_path, "stock", freed) is None
    why = str(failure(tmp_path, "debug", freed))
    assert "BUG: KASAN: slab-use-after-free in template_main+0x" in why, why
    line = (tmp_path / "tcp_mine.c").read_text().splitlines().index(freed) + 1
    assert f"at template_main() (tcp_mine.c:{line})" in why, why


@pytest.mark.usefixtures("debug")
def test_a_write_beyond_an_array_of_the_stack_is_found(tmp_path: Path) -> None:
    beyond = "	{ volatile u32 few[4]; volatile u32 at = 4; few[at] = few[at]; }"
    why = str(failure(tmp_path, "debug", beyond))
    assert "UBSAN: array-index-out-of-bounds in " in why, why
    assert "at template_main() (tcp_mine.c:" in why, why
    (console,) = (tmp_path / "debug").glob("runs/*/console.log")
    assert "BUG: KASAN: stack-out-of-bounds in template_main+0x" in console.read_text()


@pytest.mark.usefixtures("debug")
def test_a_corrupt_list_is_found(tmp_path: Path) -> None:
    twice = "	list_add(&entry, &entries); list_add(&entry, &entries);"
    why = str(failure(tmp_path, "debug", twice, "static LIST_HEAD(entries);\nstatic LIST_HEAD(entry);"))
    assert "WARNING: CPU: 0" in why, why
    assert "__list_add_valid" in why, why


@pytest.mark.usefixtures("debug")
def test_two_locks_in_both_orders_are_found(tmp_path: Path) -> None:
    locks = "static DEFINE_SPINLOCK(one);\nstatic DEFINE_SPINLOCK(other);"
    first = "	spin_lock(&one); spin_lock(&other); spin_unlock(&other); spin_unlock(&one);"
    second = "	spin_lock(&other); spin_lock(&one); spin_unlock(&one); spin_unlock(&other);"
    assert failure(tmp_path, "stock", first + second, locks) is None
    why = str(failure(tmp_path, "debug", first + second, locks))
    assert "WARNING: possible circular locking dependency detected" in why, why


# As Documentation/dev-tools/kcov.rst of the kernel has it.
KCOV = r"""
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#define COVER (64 << 10)

int main(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(0x7f000001) };
	int kcov = open("/sys/kernel/debug/kcov", O_RDWR);
	unsigned long *cover, n, i;

	if (kcov < 0 || ioctl(kcov, _IOR('c', 1, unsigned long), COVER))
		return 1;
	cover = mmap(NULL, COVER * sizeof(*cover), PROT_READ | PROT_WRITE, MAP_SHARED, kcov, 0);
	if (cover == MAP_FAILED || ioctl(kcov, _IO('c', 100), 0))
		return 2;
	__atomic_store_n(&cover[0], 0, __ATOMIC_RELAXED);
	connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&to, sizeof(to));
	n = __atomic_load_n(&cover[0], __ATOMIC_RELAXED);
	for (i = 0; i < n; i++)
		printf("%lx\n", cover[i + 1]);
	return ioctl(kcov, _IO('c', 101), 0) ? 3 : 0;
}
"""


def test_what_a_system_call_reaches_is_listed(tmp_path: Path) -> None:
    build(name="kcov", config=("kcov",))
    (tmp_path / "reach.c").write_text(KCOV)
    subprocess.run(["gcc", "-O2", "-o", tmp_path / "reach", tmp_path / "reach.c"], check=True)
    script = f"mount -t debugfs debugfs /sys/kernel/debug; {tmp_path}/reach; echo; cat /proc/kallsyms"
    done = netwarp("exec", "--kernel", "kcov", "-o", tmp_path / "r", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    reached, symbols = done.stdout.split("\n\n", 1)
    functions = sorted((int(line.split()[0], 16), line.split()[2]) for line in symbols.splitlines() if line)
    addresses = [int(line, 16) for line in reached.splitlines()]
    names = {max(one for one in functions if one[0] <= address)[1] for address in set(addresses)}
    assert {"tcp_v4_connect", "tcp_connect", "__ip_queue_xmit"} <= names
    assert not re.search(r"\bsctp_", " ".join(names))
