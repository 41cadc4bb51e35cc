"""The kernel's changes, which are kept for each series: none is missing in one of them."""

from netwarp.kernels.recipe import TREE

BROUGHT = {
    "0007-um-a-process-for-each-address-space.patch",
    "0016-netem-seed.patch",
    "0018-drops-tell-the-receiver.patch",
}
"""What 6.1 takes over from later kernels."""
LATER = {
    "0024-um-run-by-seccomp.patch",
    "0026-um-programs-read-the-clock.patch",
    "0052-um-programs-that-wait-by-computing.patch",
}
"""Patches that 6.1 lacks: there programs run by ptrace and ask the kernel for the time, which is slower. The proof
that a program waits steps it in the stub of 0024, so there a spin without a call stops time, as docs/limitations.md
says."""


def names_by_series() -> dict[str, set[str]]:
    """The patches' names by their folder."""
    found: dict[str, set[str]] = {}
    for path in TREE.glob("**/patches/*.patch"):
        found.setdefault(path.parent.parent.name, set()).add(path.name)
    return found


def test_each_series_has_all_changes() -> None:
    series = names_by_series()
    oldest = series.pop("6.1")
    assert series
    for name, names in series.items():
        assert oldest - BROUGHT == names - LATER, name


def test_each_change_says_what_it_is_for() -> None:
    for path in TREE.glob("**/patches/*.patch"):
        first = path.read_text().splitlines()[0]
        assert first
        assert not first.startswith(("---", "diff")), path
