"""Reasons for which a machine ended, from its console and its exit status."""

import re
import signal
from pathlib import Path

from netwarp.engines.mappings import max_mappings
from netwarp.engines.supervisor import console_lines, console_tail
from netwarp.store.console import CONSOLE

_NAMED = 5
"""The maximum number of programs that a reason names."""
_MEMORY_KILLER = (
    "; the host's OOM killer does that: execute fewer runs at once (-j), or give each less memory ([run] memory)"
)
_OF_HOST = (
    "the host killed a process of the machine with signal 9",
    "no further process",
    "the host has no room for the machine's memory",
)
"""Parts of panic messages about the host's actions; the words are those of arch/um/os-Linux/netwarp_host.c."""
_SEEN, _WAITS = "netwarp: seen: ", "netwarp: waits: "
"""Prefixes of the kernel's lines on the program that runs: what it saw of it, and which programs wait by computing; the
words are those of arch/um/kernel/netwarp_answer.c."""
_ENOMEM = "UML ran out of memory on the host side"


def out_of_mappings(directory: Path) -> str | None:
    """Say that the host refused memory to a program of the lab, which ends the program; None if it did not."""
    if not any(_ENOMEM in line for line in console_lines(directory)):
        return None
    return (
        "a program of the lab needs more memory mappings than this host allows a process, "
        f"{max_mappings()} (vm.max_map_count): make it use less memory, or raise the limit: "
        f"`sysctl vm.max_map_count={4 * max_mappings()}`"
    )


def out_of_memory(directory: Path) -> str | None:
    """Say that the machine's kernel ended a program to get its memory (oom_kill_process()); None if it did not."""
    found = (
        re.search(r"Out of memory: Killed process \d+ \((.*?)\) total-vm", line) for line in console_lines(directory)
    )
    names = list(dict.fromkeys(match[1] for match in found if match))
    if not names:
        return None
    return (
        f"the virtual machine was out of memory, and its kernel ended {', '.join(names[:_NAMED])}: give it more with "
        "[run] memory (`netwarp exec --memory`)"
    )


def of_waiting(directory: Path) -> str:
    """Sentences on the program that ran when a machine was ended, and on other programs that wait by computing."""
    lines = console_lines(directory)
    seen = [line.removeprefix(_SEEN) for line in lines if line.startswith(_SEEN)]
    waits = list(dict.fromkeys(line.removeprefix(_WAITS) for line in lines if line.startswith(_WAITS)))
    told = f"; it is not proven to wait: when it was looked at, {seen[-1]}" if seen else ""
    names = (f"{name} (pid {pid})" for pid, _, name in (line.partition(" ") for line in waits[:_NAMED]))
    return told + (f"; these wait by computing: {', '.join(names)}" if waits else "")


def killed_by_host(status: int | None, directory: Path) -> bool:
    """Whether the host ended the machine or one of its processes, or had no room for it."""
    if status == 128 + signal.SIGKILL:
        return True
    lines = console_lines(directory)
    return any(words in line for line in lines for words in (*_OF_HOST, _ENOMEM))


def death(status: int | None) -> str:
    """Say how the machine's kernel ended; as in a shell, a status above 128 is 128 plus the number of a signal."""
    if status == 0:
        return "the virtual machine was switched off from within (reboot(2))"
    if status is None or status <= 128 or status == 128 + signal.SIGABRT:  # a panic ends with SIGABRT
        return f"the virtual machine died (exit status {status})"
    number = status - 128
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    return f"the virtual machine was killed on the host ({name})" + (_MEMORY_KILLER if number == signal.SIGKILL else "")


def last_words(directory: Path) -> str:
    """Say why the machine's kernel panicked; without a panic, return the end of its console."""
    panic = next((line for line in console_lines(directory) if "Kernel panic" in line), None)
    if panic is None:
        return console_tail(directory)
    return f": {panic}{_fix(panic)}"


def _fix(panic: str) -> str:
    """The advice against a panic."""
    killed, processes, room = _OF_HOST
    if killed in panic:
        return _MEMORY_KILLER
    if processes in panic:
        return ": raise the limit of processes (`ulimit -u`, or of the container), or execute fewer runs at once (-j)"
    if room in panic:
        return ": make room for its memory file, or choose a larger place with TMPDIR"
    return ": give it more with [run] memory" if "memory" in panic.lower() else f"; see {CONSOLE}"
