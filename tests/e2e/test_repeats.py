"""The same seed gives the same bytes: over sizes of memory, on a busy host. `make nightly` makes 200 runs."""

from pathlib import Path

from bench.repeats import SCENARIO, repeats, run_once

REPEATS = 8
"""Four sizes of memory, on a quiet machine and on a busy one."""


def test_repeats_are_the_same_to_the_byte(tmp_path: Path) -> None:
    """Memory, the program's view of the machine, captures, records and all: 80 connections fill hash tables."""
    made = list(repeats(tmp_path, REPEATS, memories_mb=(160, 288, 416, 544)))
    assert len(made) == REPEATS
    assert any(repeat.busy for repeat in made)
    assert [repeat for repeat in made if repeat.differences] == []


def test_neither_does_the_size_of_memory_move_a_record(tmp_path: Path) -> None:
    """Hash tables grow with it, and the kernel lists sockets in their order: with and without its recorder."""
    for exact in ("true", "false"):
        small, large = (
            run_once(
                SCENARIO, tmp_path / f"{exact}{mb}", "--set", f'run.memory="{mb}M"', "--set", f"record.exact={exact}"
            )
            for mb in (160, 544)
        )
        differing = {name for name in {*small, *large} if small.get(name) != large.get(name)}
        assert differing == {"run.json", "look-client.out"}, "the id, and /proc/meminfo as the program saw it"


def test_nor_does_it_number_connections_that_are_being_made(tmp_path: Path) -> None:
    """A sample with connection requests (SYN-RECV) in a hash table does not number them: patch 0015."""
    scenario = SCENARIO.replace('delay = "5ms"', 'delay = "150ms"')
    small, large = (
        run_once(scenario, tmp_path / str(mb), "--set", f'run.memory="{mb}M"', "--set", 'duration="2s"')
        for mb in (160, 544)
    )
    differing = {name for name in {*small, *large} if small.get(name) != large.get(name)}
    assert differing == {"run.json", "look-client.out"}
