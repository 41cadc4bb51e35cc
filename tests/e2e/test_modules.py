"""The user's kernel modules: compiled for the run's kernel, loaded, recorded, and named by the line in errors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest
from e2e_command import Answer, netwarp, succeed
from e2e_runs import only_run
from e2e_scenarios import dumbbell
from netwarp.modules.named import shipped_modules
from netwarp.store.result import open_result
from netwarp.store.run_status import RunStatus

TEMPLATE = shipped_modules()["tcp_template.c"].read_text()
COUNTING = "	t->acked += rs->acked_sacked;"
"""The line of the template that runs after each ACK."""
FRAME_BYTES = 1514


def write(folder: Path, name: str, change: str = COUNTING) -> str:
    """Write the template under another name, with another line; return its place for a `cc`."""
    text = TEMPLATE.replace('"template"', f'"{name}"').replace(COUNTING, change)
    (folder / f"tcp_{name}.c").write_text(text)
    return f"file:./tcp_{name}.c"


def run(folder: Path, *arguments: str, text: str | None = None) -> Answer:
    """Run a dumbbell of 10 Mbit/s in a folder."""
    (folder / "s.toml").write_text(text or dumbbell(duration="4s", queue="pfifo limit 300"))
    return netwarp("run", folder / "s.toml", "--no-plots", "-o", folder / "result", *arguments)


def reason(folder: Path, answer: Answer) -> str:
    """The reason of the only run's failure, which was printed as well."""
    assert answer.code == 3, answer.err
    assert "Traceback" not in answer.err
    status = only_run(folder / "result").status()
    assert status["status"] == RunStatus.FAILED
    assert " ".join(str(status["reason"]).split()) in answer.words
    return str(status["reason"])


@pytest.mark.parametrize("window", [40, 100])
def test_a_fixed_window_gives_the_round_trip_that_it_must(tmp_path: Path, window: int) -> None:
    """W packets in flight at 10 Mbit/s: W x 1514 x 8 / 10^7 s, on any path.

    An ACK covers two packets, and releases two: the second of them completes the window, the first has one packet less
    before it. A sample is from the newest packet that an ACK covers, which may be either.
    """
    answer = run(tmp_path, "--set", f'flows.bulk.cc="file:tcp_template.c window={window}"')
    assert answer.code == 0, answer.err
    made = only_run(tmp_path / "result")
    late = made.scan("acks").filter((pl.col("time_ns") > 2 * 10**9) & pl.col("rtt_us").is_not_null()).collect()
    assert late.height > 500
    due_us = window * FRAME_BYTES * 8 / 10
    assert late["rtt_us"].max() == pytest.approx(due_us, rel=0.005)
    assert set((late["rtt_us"] * 10 / (FRAME_BYTES * 8)).round().to_list()) <= {window - 1, window}


def test_what_a_module_exports_is_recorded_after_each_ack(tmp_path: Path) -> None:
    assert run(tmp_path, "--set", "flows.bulk.cc=file:tcp_template.c window=40").code == 0
    made = only_run(tmp_path / "result")
    names = made.scan("variables").collect()
    assert names["name"].to_list() == ["acked", "losses", "min_rtt_us"]
    assert set(names["control"]) == {"template"}
    states = made.scan("states").join(names.lazy(), on="variable_id", maintain_order="left").collect()
    acks = made.scan("acks").filter(pl.col("tuple_id") == states["tuple_id"][0]).collect()
    acked, lowest = (states.filter(pl.col("name") == name) for name in ("acked", "min_rtt_us"))
    assert acked["time_ns"].to_list() == acks["time_ns"].to_list()
    # The module's count, and the kernel's: only the latter includes the SYN's ACK.
    assert acked["value"][-1] == pytest.approx(acks["delivered_pkts"][-1], abs=1)
    # The first sample is the SYN's, before the congestion control begins.
    assert lowest["value"][-1] == acks["rtt_us"].drop_nulls()[1:].min()


def test_a_null_pointer_fails_its_run_with_the_line(tmp_path: Path) -> None:
    cc = write(tmp_path, "null", f"	if (t->acked > 100)\n		*(volatile int *)NULL = 1;\n{COUNTING}")
    line = (tmp_path / "tcp_null.c").read_text().splitlines().index("		*(volatile int *)NULL = 1;") + 1
    why = reason(tmp_path, run(tmp_path, "--set", f"flows.bulk.cc={cc}"))
    assert "Kernel mode fault at addr 0x0" in why
    assert f"at template_main() (tcp_null.c:{line})" in why


def test_a_loop_without_end_fails_its_run_with_the_line(tmp_path: Path) -> None:
    cc = write(tmp_path, "spin", f"	while (READ_ONCE(t->acked) > 100)\n		;\n{COUNTING}")
    lines = (tmp_path / "tcp_spin.c").read_text().splitlines()
    loop = lines.index("	while (READ_ONCE(t->acked) > 100)") + 1
    why = reason(tmp_path, run(tmp_path, "--set", f"flows.bulk.cc={cc}"))
    assert "virtual time stands still" in why
    found = re.search(r"template_main\(\) \(tcp_spin\.c:(\d+)\)", why)
    assert found, why
    assert int(found[1]) in (loop, loop + 1)


def test_a_warning_of_a_module_fails_its_run_with_the_line(tmp_path: Path) -> None:
    cc = write(tmp_path, "warn", f"	WARN_ON_ONCE(t->acked > 100);\n{COUNTING}")
    line = (tmp_path / "tcp_warn.c").read_text().splitlines().index("	WARN_ON_ONCE(t->acked > 100);") + 1
    why = reason(tmp_path, run(tmp_path, "--set", f"flows.bulk.cc={cc}"))
    assert "WARNING: " in why
    assert f"tcp_warn.c:{line}" in why


def test_a_warning_that_involves_no_module_makes_a_run_suspect(tmp_path: Path) -> None:
    """A timer that calls a function of the kernel which does nothing but warn: no module is on the stack then."""
    (tmp_path / "late.c").write_text(LATE)
    answer = run(tmp_path, text='modules = ["./late.c"]\n' + dumbbell(duration="2s"))
    assert "suspect" in answer.err
    status = only_run(tmp_path / "result").status()
    assert status["status"] == RunStatus.SUSPECT
    assert "its kernel warned: WARNING: " in str(status["reason"])
    assert "lib/refcount.c:" in str(status["reason"])


def test_a_name_that_no_text_says_is_read_in_the_binary(tmp_path: Path) -> None:
    text = TEMPLATE.replace('"template"', 'JOINED("hid")').replace(
        "#include <netwarp.h>", '#include <netwarp.h>\n#define JOINED(name) name "den"', 1
    )
    (tmp_path / "tcp_hidden.c").write_text(text)
    assert run(tmp_path, "--set", "flows.bulk.cc=file:./tcp_hidden.c").code == 0
    assert set(only_run(tmp_path / "result").scan("variables").collect()["control"]) == {"hidden"}


def test_a_text_that_says_what_the_binary_does_not_register_is_refused(tmp_path: Path) -> None:
    text = TEMPLATE.replace('"template"', "NAME").replace(
        "#include <netwarp.h>",
        '#include <netwarp.h>\n#ifdef NEVER\n#define NAME "one"\n#else\n#define NAME ("two")\n#endif',
        1,
    )
    (tmp_path / "tcp_two.c").write_text(text.replace('("two")', '/* so */ "t" "wo"'))
    answer = run(tmp_path, "--set", "flows.bulk.cc=file:./tcp_two.c")
    assert answer.code == 2
    assert "tcp_two.c registers two once it is compiled, but its source says" in answer.words


def test_two_modules_compete_in_one_run(tmp_path: Path) -> None:
    """Two windows that do not change share the link as the windows are: 60 to 30."""
    second = write(tmp_path, "second").removeprefix("file:")
    text = dumbbell(
        flows='[flows.one]\ntool = "bulk"\nfrom = "h1"\nto = "h2"\ncc = "template"\n'
        '[flows.other]\ntool = "bulk"\nfrom = "h1"\nto = "h2"\ncc = "second"\n',
        duration="10s",
        queue="pfifo limit 300",
    )
    modules = (
        'modules = [{ file = "tcp_template.c", parameters = { window = 60 } }, '
        f'{{ file = "{second}", parameters = {{ window = 30 }} }}]\n'
    )
    answer = run(tmp_path, text=modules + text)
    assert answer.code == 0, answer.err
    made = only_run(tmp_path / "result")
    assert set(made.scan("variables").collect()["control"]) == {"template", "second"}
    late = made.scan("acks").filter(pl.col("time_ns") > 5 * 10**9).collect()
    spans = late.group_by("tuple_id").agg(pl.col("bytes_acked").max() - pl.col("bytes_acked").min())
    high, low = sorted(spans["bytes_acked"], reverse=True)
    assert high / low == pytest.approx(2.0, rel=0.02)


def test_what_does_not_compile_is_refused_in_the_compilers_words(tmp_path: Path) -> None:
    cc = write(tmp_path, "wrong", COUNTING.replace("acked +=", "aked +="))
    answer = run(tmp_path, "--set", f"flows.bulk.cc={cc}")
    assert answer.code == 4
    line = (tmp_path / "tcp_wrong.c").read_text().splitlines().index(COUNTING.replace("acked +=", "aked +=")) + 1
    assert re.search(rf"^tcp_wrong\.c:{line}:\d+: error: .*'aked'; did you mean 'acked'", answer.err, re.MULTILINE)
    assert "|         t->aked += rs->acked_sacked;" in answer.err
    assert "make" not in answer.err
    assert not (tmp_path / "result").exists()


def test_the_first_error_is_said_first(tmp_path: Path) -> None:
    """It precedes warnings of the compiler about lines above it."""
    change = f"	int unused;\n{COUNTING}\n	t->first = 1;\n	t->second = 2;"
    cc = write(tmp_path, "two", change)
    line = (tmp_path / "tcp_two.c").read_text().splitlines().index("	t->first = 1;") + 1
    answer = run(tmp_path, "--set", f"flows.bulk.cc={cc}")
    assert answer.code == 4
    headline = next(text for text in answer.err.splitlines() if text.startswith("error: "))
    assert re.search(rf"tcp_two\.c does not compile for the kernel \S+: tcp_two\.c:{line}:\d+: error: ", headline)
    assert "warning: unused variable 'unused'" in answer.words


def test_one_module_that_does_not_compile_fails_its_runs_alone(tmp_path: Path) -> None:
    bad = write(tmp_path, "bad", COUNTING.replace("acked +=", "aked +="))
    good = write(tmp_path, "good", f"	int unused;\n{COUNTING}")
    answer = run(tmp_path, "--sweep", f'flows.bulk.cc=["{bad}", "{good}", "reno"]')
    assert answer.code == 3, answer.err
    assert re.search(
        r"note: the module \S*tcp_bad\.c does not compile for the kernel \S+: \S*tcp_bad\.c:\d+", answer.words
    )
    assert "note: 1 of 3 runs load a module that does not compile, and fail" in answer.words
    # A warning about a module that compiles is shown as well.
    assert re.search(r"note: the compiler says: .*tcp_good\.c:\d+:\d+: warning: unused variable 'unused'", answer.words)
    result = open_result(tmp_path / "result")
    reasons = {str(made.point["flows.bulk.cc"]): result.run(made.id).status().get("reason") for made in result.planned}
    assert {cc: reason is None for cc, reason in reasons.items()} == {bad: False, good: True, "reno": True}
    assert re.search(r"tcp_bad\.c:\d+:\d+: error: .*'aked'; did you mean 'acked'", str(reasons[bad]))


def test_a_name_that_the_kernel_has_is_refused(tmp_path: Path) -> None:
    answer = run(tmp_path, "--set", f"flows.bulk.cc={write(tmp_path, 'cubic')}")
    assert answer.code == 2
    assert 'registers the congestion control "cubic", which the kernel has already' in answer.words


def test_a_parameter_that_the_module_lacks_is_refused(tmp_path: Path) -> None:
    answer = run(tmp_path, "--set", "flows.bulk.cc=file:tcp_template.c windo=40")
    assert answer.code == 2
    assert 'has no parameter "windo" (did you mean "window"?)' in answer.words


def test_a_value_that_a_parameter_does_not_take_fails_the_run_with_its_name(tmp_path: Path) -> None:
    answer = run(tmp_path, "--set", "flows.bulk.cc=file:tcp_template.c window=many")
    assert "a parameter has a value that it does not take" in reason(tmp_path, answer)
    assert "window=many (EINVAL)" in answer.words


def test_a_result_may_have_the_name_of_its_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The module is found before the directory exists, which would be taken for it."""
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(dumbbell(duration="1s"))
    answer = netwarp(
        "run", "s.toml", "--no-plots", "--set", 'flows.bulk.cc="file:tcp_template.c"', "-o", "tcp_template.c"
    )
    assert answer.code == 0, answer.err


def test_compiling_reads_no_file_but_the_systems(tmp_path: Path) -> None:
    """A Kbuild is a program, which may not read the user's files, like the programs of runs."""
    secret = tmp_path / "secret"
    secret.write_text("hidden")
    module = tmp_path / "mine"
    module.mkdir()
    (module / "mine.c").write_text(TEMPLATE.replace('"template"', '"mine"'))
    touched = tmp_path / "touched"
    (module / "Kbuild").write_text(f"obj-m := mine.o\n$(info $(shell cat {secret}; touch {touched}))\n")
    text = f'modules = ["{module}"]\n' + dumbbell(duration="1s")
    answer = run(tmp_path, "--set", "flows.bulk.cc=mine", text=text)
    assert answer.code == 0, answer.err
    assert not touched.exists()
    assert "hidden" not in answer.err + answer.out


def test_a_result_is_run_again_from_the_modules_that_it_keeps(tmp_path: Path) -> None:
    cc = write(tmp_path, "kept")
    assert run(tmp_path, "--set", f"flows.bulk.cc={cc}").code == 0
    (tmp_path / "tcp_kept.c").unlink()
    succeed("rerun", tmp_path / "result")


def test_each_save_gets_a_verdict(tmp_path: Path) -> None:
    """The first is for the file when the command starts; an error of the compiler is a verdict, too."""
    file = tmp_path / write(tmp_path, "mine").removeprefix("file:")
    (tmp_path / "s.toml").write_text(dumbbell(duration="4s", queue="pfifo limit 300"))
    command: list[str | Path] = ["dev", file, "--scenario", tmp_path / "s.toml", "--against", "cubic", "--saves", "1"]
    answer = succeed(*command, "-o", tmp_path / "dev")
    assert re.search(r"against cubic: .*RTT mean ms [\d.]+, not [\d.]+", answer.out)
    assert "save 1: verdict after" in answer.err
    assert (tmp_path / "dev" / "001" / "plots" / "state-bulk-acked.png").exists()
    assert (tmp_path / "dev" / "last" / "tcp_mine.c").read_text() == file.read_text()
    write(tmp_path, "mine", COUNTING.replace("acked +=", "aked +="))
    answer = succeed(*command, "-o", tmp_path / "dev", "--json")
    assert "did you mean 'acked'" in answer.err
    (line,) = answer.out.splitlines()
    told = json.loads(line)
    assert (told["save"], told["problem"], told["verdict"]) == (1, None, [])
    assert {row["flows.bulk.cc"]: row["status"] for row in told["summary"]}.pop("cubic") == "ok"
    assert [row["status"] for row in told["summary"]].count("failed") == 1


def test_a_qdisc_of_ones_own(tmp_path: Path) -> None:
    """A queue that drops every fifth packet, written here."""
    (tmp_path / "sch_fifth.c").write_text(FIFTH)
    text = 'modules = [{ file = "./sch_fifth.c", parameters = { every = 5 } }]\n' + dumbbell(
        flows='[flows.load]\ntool = "cbr"\nfrom = "h1"\nto = "h2"\nrate = "1mbit"\n', duration="4s", queue="fifth"
    )
    answer = run(tmp_path, text=text)
    assert answer.code == 0, answer.err
    packets = only_run(tmp_path / "result").scan("packets").collect()
    queue = packets.filter(pl.col("fate") == 1)["interface_index"].unique().to_list()
    assert len(queue) == 1
    there = packets.filter(pl.col("interface_index") == queue[0])
    assert there.filter(pl.col("fate") == 1).height == there.height // 5


FIFTH = """
#include <linux/module.h>
#include <net/pkt_sched.h>

static unsigned int every = 2;
module_param(every, uint, 0444);

struct fifth { u32 seen; };

static int fifth_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct fifth *q = qdisc_priv(sch);

	if (++q->seen % every == 0)
		return qdisc_drop(skb, sch, to_free);
	return qdisc_enqueue_tail(skb, sch);
}

static struct Qdisc_ops fifth_qdisc_ops __read_mostly = {
	.id		= "fifth",
	.priv_size	= sizeof(struct fifth),
	.enqueue	= fifth_enqueue,
	.dequeue	= qdisc_dequeue_head,
	.peek		= qdisc_peek_head,
	.reset		= qdisc_reset_queue,
	.owner		= THIS_MODULE,
};

static int __init fifth_init(void)
{
	return register_qdisc(&fifth_qdisc_ops);
}

static void __exit fifth_exit(void)
{
	unregister_qdisc(&fifth_qdisc_ops);
}

module_init(fifth_init);
module_exit(fifth_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("drops every fifth packet");
"""

LATE = """
#include <linux/module.h>
#include <linux/refcount.h>
#include <linux/timer.h>

static struct timer_list late;

static int __init late_init(void)
{
	timer_setup(&late, (void *)refcount_warn_saturate, 0);
	mod_timer(&late, jiffies + msecs_to_jiffies(10));
	return 0;
}

module_init(late_init);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("makes the kernel warn");
"""
