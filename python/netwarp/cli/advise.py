"""`netwarp advise`."""

import json as json_
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from netwarp.cli import values
from netwarp.cli.common import FAILED_EXPECTATION, OK, errors, fail, positive, say, stderr, stdout, write_json
from netwarp.cli.options import Engine, Kernel

if TYPE_CHECKING:
    from netwarp.advise import Advice, Question
    from netwarp.advise.trial import Laboratory, Meter


def advise(
    source: Annotated[str | None, Parameter(completer=values.scenarios)] = None,
    /,
    *,
    rate: str | None = None,
    rtt: str | None = None,
    traffic: str | None = None,
    queue_is: Annotated[str | None, Parameter(completer=values.one_of("mine", "modem", "provider"))] = None,
    goal: Annotated[str | None, Parameter(completer=values.goals)] = None,
    limit: Annotated[list[str] | None, Parameter(negative=())] = None,
    change: Annotated[list[str] | None, Parameter(negative=())] = None,
    loss: str | None = None,
    jitter: str | None = None,
    buffer: str | None = None,
    queue: str | None = None,
    cc: str | None = None,
    link: str | None = None,
    duration: str | None = None,
    candidates: Path | None = None,
    effort: Annotated[str, Parameter(completer=values.efforts)] = "usual",
    flips: bool = True,
    device: str = "eth0",
    present: Path | None = None,
    overhead: int | None = None,
    own_ends: Annotated[bool, Parameter(negative=())] = False,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    jobs: Annotated[int | None, Parameter(name=["--jobs", "-j"])] = None,
    engine: Engine = None,
    kernel: Kernel = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Recommend a congestion control and a queue for an environment, from runs in it.

    Candidates are run in the environment, in its neighbourhood and in adverse cases. Clear losers are dropped early,
    and the rest is compared as `netwarp compare` does. Behind a modem the candidates are shapers at your router, which
    are printed as commands for Linux and as settings of OpenWrt. See docs/advise.md.

    Parameters
    ----------
    source
        A scenario (a shipped name or a file) that is the environment; or a capture (.pcap, .pcapng) or a recording of
        `netwarp watch` (.arrow) from which rate, RTT, loss and traffic are estimated. Options override estimates.
    rate
        Rate of the line: 20mbit, 20mbit/2mbit (down/up), 10mbit..30mbit (a range), or a trace (lte, or a file).
    rtt
        RTT of the empty path, such as 30ms, or a range such as 20ms..60ms.
    traffic
        What shares the line, such as "bulk 3, upload 1, call 1, web 20%, udp 2mbit".
    queue_is
        Who controls the queue that fills: mine, modem or provider. For modem, netwarp advises a shaper at your router,
        because nothing else can be changed. Default: modem if the rates down and up differ, otherwise mine.
    goal
        What matters: latency, throughput, fairness, calls, web, energy; or weights such as "latency 2, throughput 1".
        Default: calls or web if nothing else is sent, otherwise latency.
    limit
        What must hold, such as "rtt_p95 < 50ms" or "goodput > 15mbit"; may be given several times.
    change
        What can be changed: sender, queue, both, shaper, offload; may be given several times. Default: both; sender
        with --buffer; shaper behind a modem. Or buffer alone: how small the queue may be.
    loss
        Random loss of the path, such as 0.5%.
    jitter
        How much the path's delay varies, such as 2ms.
    buffer
        Size of the present queue in packets or bytes (1000, 256kB), if it cannot be changed.
    queue
        The queue that is there now, in tc's syntax; default: pfifo limit 1000.
    cc
        The congestion control that is there now; default: cubic.
    link
        The link that limits a scenario; default: its slowest.
    duration
        Duration of a run; default: 12 s, or 100 RTTs if that is longer.
    candidates
        A file of candidates, added to the shipped ones.
    effort
        quick, usual or thorough: how many finalists and seeds.
    flips
        Look for where the choice flips.
    device
        The interface that the printed commands name; on a router, the one towards the provider.
    present
        A file with the output of `tc qdisc show` on that machine, and of `sysctl` for the settings that would change;
        the lines that revert the advice are made from it.
    overhead
        Bytes beside each IP packet on the line, for the printed shapers; default: 44, which is enough for any line.
    own_ends
        Both ends of the connections are yours, so that DCTCP and thresholds for ECN are candidates. Always assumed for
        scenarios with an RTT up to 5 ms.
    output
        Where the results go; default results/advise-<UTC>. Runs that exist already are not repeated.
    jobs
        Number of runs at once; default: one for each CPU.
    engine
        The engine that executes the runs, as in `netwarp run`.
    json
        Print everything as JSON.
    """
    with errors():
        from netwarp.advise.options import Options, changes_of, default_goal, ownership_of, question_environment
        from netwarp.advise.present import read_present
        from netwarp.advise.question import Question, effort_of, overhead_of
        from netwarp.advise.trial import Laboratory
        from netwarp.engines import EngineOptions, find_engine
        from netwarp.store.making import new_directory

        positive("--jobs", jobs)
        options = Options(
            source, rate, rtt, traffic, loss, jitter, buffer, queue, cc, link, duration, queue_is, own_ends
        )
        owner = ownership_of(options, change or ())
        changes = changes_of(change or (), buffer, owner.queue_is)
        known = None if present is None else read_present(present, device)
        environment = question_environment(options, changes, owner)
        if owner.assumed:
            say(f"assumed: {owner.assumed}")
        for one in environment.estimates:
            say(f"estimated: {one.name} {one.value} {one.interval}, {one.basis}")
        question = Question(
            environment,
            default_goal(environment) if goal is None else goal,
            changes,
            tuple(limit or ()),
            candidates,
            effort_of(effort),
            flips,
            device,
            known,
            overhead_of(overhead),
        )
        directory = output or new_directory("advise")
        laboratory: Callable[[Meter], Laboratory] = partial(
            Laboratory, find_engine(engine, EngineOptions(kernel=kernel)), directory, jobs, say
        )
        if changes == ("buffer",):
            return _size_buffers(question, laboratory, directory, json=json)
        return _answer(question, laboratory, directory, json=json)


def _answer(question: "Question", laboratory: "Callable[[Meter], Laboratory]", directory: Path, *, json: bool) -> int:
    """Check the question, say how long it takes, and answer it."""
    from netwarp.advise import NoCandidateError
    from netwarp.advise.advice import conclude
    from netwarp.advise.meter import SearchMeter
    from netwarp.advise.page import write_page
    from netwarp.advise.prepared import prepare
    from netwarp.advise.render import as_json

    with SearchMeter(stderr()) as meter:
        made = laboratory(meter)
        asked = prepare(question, made.engine)
        say(asked.announcement(made.jobs))
        meter.expect(asked.size.runs + asked.flip_runs, asked.flip_runs)
        try:
            found = conclude(asked, made)
        except NoCandidateError as error:
            fail(error, FAILED_EXPECTATION)
    page = write_page(found, directory)
    if json:
        write_json(json_.dumps(as_json(found) | {"page": str(page)}, indent=2, ensure_ascii=False))
    else:
        _print(found)
        sys.stdout.write(f"page: {page}\nresults: {directory}\n")
    return OK


def _size_buffers(
    question: "Question", laboratory: "Callable[[Meter], Laboratory]", directory: Path, *, json: bool
) -> int:
    """Find the smallest buffers that keep the throughput, and show them as a table."""
    from rich.table import Table

    from netwarp.advise.buffers import KEPT, buffer_search, rows
    from netwarp.advise.buffers_figure import write_buffers
    from netwarp.advise.catalogue import read_catalogue
    from netwarp.advise.meter import SearchMeter, time_words
    from netwarp.advise.sizing import cost_s
    from netwarp.execute.processors import processors

    environment = question.environment
    with SearchMeter(stderr()) as meter:
        search = buffer_search(environment, read_catalogue(question.candidates), laboratory(meter))
        workers = search.laboratory.jobs or len(processors())
        about = time_words(search.runs * cost_s(environment) / workers)
        say(f"{len(search.controls)} controls on {len(search.paths)} paths: at most {search.runs} runs, about {about}")
        meter.expect(search.runs, 0)
        found = search.run()
    picture = write_buffers(found, environment.words, directory)
    if json:
        write_json(json_.dumps({"buffers": rows(found), "figure": str(picture)}, indent=2, ensure_ascii=False))
        return OK
    table = Table(title=f"The smallest buffer that keeps {100 * KEPT:g} % of the throughput")
    for heading in (
        "path",
        "control",
        "BDP",
        "packets",
        "ms",
        "too small, BDP",
        "Mbit/s",
        "% of the most",
        "RTT p95, ms",
    ):
        table.add_column(heading, justify="left" if heading in ("path", "control") else "right")
    for row in rows(found):
        table.add_row(*("–" if value is None else str(value) for value in row.values()))
    stdout().print(table)
    sys.stdout.write(f"figure: {picture}\nresults: {directory}\n")
    return OK


def _print(found: "Advice") -> None:
    from netwarp.advise.render import cost, effect_sentence, headline, in_short, standing_sentences, tie

    out = stdout()

    def section(title: str, texts: Sequence[str]) -> None:
        if texts:
            out.print(f"\n{title}", style="bold", soft_wrap=True)
        for text in texts:
            out.print(f"  {text}", soft_wrap=True)

    out.print(headline(found), style="bold", soft_wrap=True)
    for text in (in_short(found), tie(found), cost(found)):
        if text:
            out.print(text, soft_wrap=True)
    weights = ", ".join(f"{name} {weight:g}" for name, weight in found.weights.items())
    out.print(f"For {found.environment.words}. What matters: {weights}.", soft_wrap=True)
    section(
        "Against what is there now, in the environment as described", [effect_sentence(one) for one in found.effects]
    )
    section("Against the other finalists, over all situations", list(standing_sentences(found)))
    section("Where the choice flips", [str(one) for one in found.flips])
    section("Warnings", found.warnings)
    section("Rejected", [f"{name}: {why}" for name, why in found.rejected])
    section("First, to keep what is there now", found.commands.save)
    section("To apply it", found.commands.apply)
    section("To revert it", found.commands.undo)
    section("The same on OpenWrt, /etc/config/sqm", found.commands.sqm)
    section("To revert it on OpenWrt", found.commands.sqm_undo)
    if found.cannot_change:
        out.print(f"\n{found.cannot_change}", soft_wrap=True)
    out.print(f"\n{found.runs} runs, finalists with {len(found.seeds)} seeds", soft_wrap=True)
