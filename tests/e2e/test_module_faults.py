"""Modules with one bug each: a report names the module, the function and the line, and comes immediately."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from e2e_command import netwarp
from e2e_runs import only_run
from e2e_scenarios import dumbbell
from netwarp.store.documents import StatusJson
from netwarp.store.run_status import RunStatus

MODULE = """
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>
#include <netwarp.h>

struct broken { u32 acks; u32 zero; void *none; };
static DEFINE_MUTEX(lock);

static NETWARP_CONG_CONTROL(broken_main, sk, rs)
{
	struct broken *t = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	t->acks += rs->acked_sacked;
	tcp_snd_cwnd_set(tp, 50);
	if (t->acks > 500) {
		BUG
	}
}
static u32 broken_ssthresh(struct sock *sk) { return TCP_INFINITE_SSTHRESH; }
static u32 broken_undo(struct sock *sk) { return 50; }
static struct tcp_congestion_ops broken_ops = {
	.cong_control = broken_main, .ssthresh = broken_ssthresh, .undo_cwnd = broken_undo, .owner = THIS_MODULE,
	.name = "broken",
};
NETWARP_EXPORT(broken_ops, struct broken, acks);
static int __init broken_in(void) { (void)&lock; return tcp_register_congestion_control(&broken_ops); }
static void __exit broken_out(void) { tcp_unregister_congestion_control(&broken_ops); }
module_init(broken_in);
module_exit(broken_out);
MODULE_LICENSE("GPL");
"""
LINE = MODULE.splitlines().index("		BUG") + 1


def status_of(folder: Path, bug: str) -> StatusJson:
    """How a run of two seconds with this bug ended."""
    (folder / "tcp_broken.c").write_text(MODULE.replace("		BUG\n", f"		{bug}\n"))
    (folder / "s.toml").write_text(dumbbell(duration="2s", queue="pfifo limit 300"))
    cc = "flows.bulk.cc=file:./tcp_broken.c"
    netwarp("run", folder / "s.toml", "--no-plots", "-o", folder / "result", "--set", cc)
    return only_run(folder / "result").status()


@pytest.mark.parametrize(
    ("bug", "said"),
    [
        ("tp->snd_ssthresh = 1000 / READ_ONCE(t->zero);", "Kernel mode division by zero"),
        ("BUG_ON(t->acks > 500);", "BUG"),
        ("WARN_ON_ONCE(t->acks > 500);", "WARNING: "),
        ("while (!READ_ONCE(t->zero)) udelay(10);", "kernel code waits without end in an interrupt"),
        ("while (!READ_ONCE(t->zero)) cpu_relax();", "kernel code waits without end in an interrupt"),
        ("msleep(5);", "scheduling while atomic"),
        ("mutex_lock(&lock); mutex_unlock(&lock);", "sleeping function called from invalid context"),
    ],
    ids=["division", "bug", "warning-at-the-end", "udelay", "cpu-relax", "sleep", "mutex"],
)
def test_a_fault_is_named_with_its_line(tmp_path: Path, bug: str, said: str) -> None:
    status = status_of(tmp_path, bug)
    assert status["status"] == RunStatus.FAILED, status
    reason = str(status["reason"])
    assert reason.startswith("a module went wrong: "), reason
    assert said in reason
    assert re.search(rf"at broken_main\(\) \(tcp_broken\.c:{LINE}\)", reason), reason


def test_a_delay_in_an_interrupt_is_no_fault(tmp_path: Path) -> None:
    """Ticks come meanwhile, on the same stack."""
    assert status_of(tmp_path, "udelay(1500);")["status"] == RunStatus.OK


def test_kernel_code_that_waits_by_asking_again_gets_on(tmp_path: Path) -> None:
    """It waits for another task, and for a timer (shrink_dcache_parent() did so forever, where two tasks took apart the
    same tree)."""
    source = Path(__file__).with_name("late_flag.c")
    (tmp_path / "late_flag.c").write_text(source.read_text())
    (tmp_path / "s.toml").write_text('modules = ["./late_flag.c"]\n' + dumbbell(duration="1s"))
    answer = netwarp("run", tmp_path / "s.toml", "--no-plots", "-o", tmp_path / "result")
    assert answer.code == 0, answer.err
