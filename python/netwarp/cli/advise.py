"""`netwarp advise`."""

import json as json_
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from netwarp.cli import values
from netwarp.cli.common import FAILED_EXPECTATION, OK, errors, fail, positive, say, stdout, write_json
from netwarp.cli.options import Engine, Kernel

if TYPE_CHECKING:
    from netwarp.advise import Advice


def advise(
    source: Annotated[str | None, Parameter(completer=values.scenarios)] = None,
    /,
    *,
    rate: str | None = None,
    rtt: str | None = None,
    traffic: str | None = None,
    goal: Annotated[str, Parameter(completer=values.goals)] = "latency",
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
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    jobs: Annotated[int | None, Parameter(name=["--jobs", "-j"])] = None,
    engine: Engine = None,
    kernel: Kernel = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Recommend a congestion control and a queue for an environment, from runs in it.

    Candidates are run in the environment, in its neighbourhood and in adverse cases. Clear losers are dropped early,
    and the rest is compared as `netwarp compare` does. See docs/advise.md.

    Parameters
    ----------
    source
        A scenario (a shipped name or a file) that is the environment; or a capture (.pcap, .pcapng) or a recording of
        `netwarp watch` (.arrow) from which rate, RTT, loss and traffic are estimated. Options override estimates.
    rate
        Rate of the line, as 20mbit, 20mbit/2mbit (down/up), 10mbit..30mbit (a range), or a trace (lte, or a file).
    rtt
        RTT of the empty path, such as 30ms, or a range, 20ms..60ms.
    traffic
        What shares the line, such as "bulk 3, upload 1, call 1, web 20%, udp 2mbit".
    goal
        What matters: latency, throughput, fairness, calls, web; or weights, "latency 2, throughput 1".
    limit
        What must hold, such as "rtt_p95 < 50ms" or "goodput > 15mbit"; may be given several times.
    change
        What can be changed: sender, queue, both, shaper, offload; may be given several times. Default: both, with
        --buffer sender.
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
        The interface that the printed commands name.
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
        from netwarp.advise import NoCandidateError, Question
        from netwarp.advise import advise as advise_
        from netwarp.advise.options import Options, changes_of, question_environment
        from netwarp.advise.page import write_page
        from netwarp.advise.question import effort_of
        from netwarp.advise.trial import Laboratory
        from netwarp.engines import EngineOptions, find_engine

        positive("--jobs", jobs)
        options = Options(source, rate, rtt, traffic, loss, jitter, buffer, queue, cc, link, duration)
        changes = changes_of(change or (), buffer)
        environment = question_environment(options, changes)
        for one in environment.estimates:
            say(f"estimated: {one.name} {one.value} {one.interval}, {one.basis}")
        question = Question(
            environment, goal, changes, tuple(limit or ()), candidates, effort_of(effort), flips, device
        )
        directory = output or Path("results") / f"advise-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
        found_engine = find_engine(engine, EngineOptions(kernel=kernel))
        try:
            found = advise_(question, Laboratory(found_engine, directory, jobs, say))
        except NoCandidateError as error:
            fail(error, FAILED_EXPECTATION)
        page = write_page(found, directory)
        if json:
            from netwarp.advise.render import as_json

            write_json(json_.dumps(as_json(found) | {"page": str(page)}, indent=2, ensure_ascii=False))
        else:
            _print(found)
            sys.stdout.write(f"page: {page}\nresults: {directory}\n")
        return OK
    raise AssertionError("unreachable")


def _print(found: "Advice") -> None:
    from netwarp.advise.render import effect_sentence, headline, standing_sentences

    out = stdout()

    def section(title: str, texts: list[str]) -> None:
        if texts:
            out.print(f"\n{title}", style="bold", soft_wrap=True)
        for text in texts:
            out.print(f"  {text}", soft_wrap=True)

    out.print(headline(found), style="bold", soft_wrap=True)
    weights = ", ".join(f"{name} {weight:g}" for name, weight in found.weights.items())
    out.print(f"For {found.environment.words}. What matters: {weights}.", soft_wrap=True)
    section(
        "Against what is there now, in the environment as described", [effect_sentence(one) for one in found.effects]
    )
    section("Against the runners-up, over all situations", list(standing_sentences(found)))
    section("Where the choice flips", [str(one) for one in found.flips])
    section("Warnings", list(found.warnings))
    section("Rejected", [f"{name}: {why}" for name, why in found.rejected])
    section("To apply it", list(found.apply))
    section("To revert it", list(found.undo))
    out.print(f"\n{found.runs} runs, finalists with {len(found.seeds)} seeds", soft_wrap=True)
