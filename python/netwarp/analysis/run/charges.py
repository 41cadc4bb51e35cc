"""Virtual time that passed because programs waited by polling (docs/time.md), and when it makes a run doubtful.

A program that repeats the same call waits for others: this is noted, but it is not a reason for doubt. Readings of the
clock and other calls may be work, which would have taken no time.
"""

from collections.abc import Iterator, Mapping, Sequence

Charge = Mapping[str, str | int]
"""The name of a program, and the ns that it was charged, by kind."""
NOTED_NS = 1_000_000
"""A run does not mention less than this."""
DOUBTED_SHARE = 0.01
"""A run is suspect if more than this share of its duration was charged."""
_NAMED = 3
_POLLS = "polls_ns"
_KINDS = (
    ("readings_ns", "readings of the clock"),
    (_POLLS, "asking again"),
    ("calls_ns", "calls"),
    ("kernel_ns", "loops of the kernel"),
)


def charge_notes(charged: Sequence[Charge]) -> Iterator[str]:
    """Say how much each program was charged, if it is more than a millisecond in total."""
    if _total_ns(charged) > NOTED_NS:
        yield f"programs that wait by asking took virtual time: {_listed(charged)}"


def charge_doubts(charged: Sequence[Charge], duration_ns: int) -> Iterator[str]:
    """Say why a run of that duration may have measured the time that its programs were charged."""
    doubted = [{kind: ns for kind, ns in one.items() if kind != _POLLS} for one in charged]
    total_ns = _total_ns(doubted)
    if total_ns > NOTED_NS and total_ns > DOUBTED_SHARE * duration_ns:
        yield (
            f"{total_ns / 1e6:.4g} ms of {duration_ns / 1e6:.6g} ms passed because programs read the clock or call the "
            f"kernel again and again, which takes virtual time (docs/time.md): {_listed(doubted)}"
        )


def _total_ns(charged: Sequence[Charge]) -> int:
    return sum(_ns(one) for one in charged)


def _ns(one: Charge) -> int:
    return sum(int(one.get(kind, 0)) for kind, _ in _KINDS)


def _listed(charged: Sequence[Charge]) -> str:
    """The charges in words, the largest first: `ffmpeg 5.6 ms (readings of the clock)`."""
    largest = sorted(filter(_ns, charged), key=_ns, reverse=True)
    named = [_one(one) for one in largest[:_NAMED]]
    more = len(largest) - len(named)
    return ", ".join([*named, *([f"and {more} more"] if more else [])])


def _one(one: Charge) -> str:
    kinds = " and ".join(words for kind, words in _KINDS if one.get(kind))
    return f"{one.get('program') or 'others'} {_ns(one) / 1e6:.4g} ms ({kinds})"
