"""The kernel's changes, which are kept for several series: none is forgotten in one of them, and each says why."""

import re
from pathlib import Path

import pytest
from netwarp.kernels.recipe import TREE, known_series, patches_of, without

BROUGHT = {
    "0011-um-empty-address-space.patch",
    "0012-drops-tell-the-receiver.patch",
    "0013-module-aliases-of-qdiscs.patch",
    "0014-um-exports-of-the-host.patch",
    "0029-netem-seed.patch",
    "0106-softirq-beside-ksoftirqd.patch",
}
"""Changes that 6.1 takes over from later kernels."""
LATER = {
    "0052-um-fpu-state-by-address-space.patch",
    "0053-um-ptrace-fpu-state.patch",
    "0054-um-split-userspace.patch",
    "0055-um-run-by-seccomp.patch",
    "0056-um-vdso-clock.patch",
    "0057-um-stub-rdtsc.patch",
    "0058-um-processes-without-execve.patch",
    "0098-um-programs-that-wait-by-computing.patch",
}
"""Changes missing from 6.1. On 6.1, programs run by ptrace and ask the kernel for the time, which is slower. The proof
that a program waits steps it in the stub of 0055, so on 6.1 a spin without a call stops time (docs/limitations.md)."""

PATCHES = sorted(TREE.rglob("*.patch"))
SERIES = [path for path in PATCHES if path.parent.name in ("upstream", "common", "patches")]
HEADER = re.compile(
    r"From: netwarp <netwarp@netwarp\.invalid>\n"
    r"Subject: \[PATCH\] (?P<subject>[a-z0-9/]+: (?:[a-z]+: )*\S[^\n]*)\n\n"
    r"(?P<description>.*?)\n---\n\n(?:diff --git |--- )a/",
    re.DOTALL,
)
"""The header that `git am` reads."""


def shown(path: Path) -> str:
    return path.relative_to(TREE).as_posix()


def test_each_series_has_all_changes() -> None:
    names = {
        series: {path.name for path in patches_of(TREE, series)} | without(TREE, series).keys()
        for series in known_series()
    }
    oldest = names.pop("6.1")
    assert names
    for series, newer in names.items():
        assert oldest - BROUGHT == newer - LATER, series


def test_a_series_says_why_it_is_without_a_change_of_others() -> None:
    for series in known_series():
        others = {path.name for other in known_series() if other != series for path in patches_of(TREE, other)}
        missing = without(TREE, series)
        assert missing.keys() <= others, series
        assert all(reason.strip() for reason in missing.values()), series
        assert not missing.keys() & {path.name for path in patches_of(TREE, series)}, series


def test_a_number_belongs_to_one_change() -> None:
    numbers: dict[str, set[str]] = {}
    for path in SERIES:
        assert re.fullmatch(r"\d{4}-[a-z0-9-]+\.patch", path.name), shown(path)
        numbers.setdefault(path.name[:4], set()).add(path.name)
    assert {number: names for number, names in numbers.items() if len(names) > 1} == {}


def test_all_patches_are_of_a_series_or_shipped() -> None:
    applied = {path for series in known_series() for path in patches_of(TREE, series)}
    others = {path for path in PATCHES if path.parent.name in ("presets", "gallery")}
    assert applied | others == set(PATCHES)


def test_what_is_to_go_upstream_comes_first_and_names_no_netwarp() -> None:
    upstream = {path.name for path in SERIES if path.parent.name == "upstream"}
    for series in known_series():
        numbered = [path.name in upstream for path in patches_of(TREE, series)]
        assert numbered == sorted(numbered, reverse=True), series
    letter = (TREE / "upstream" / "cover-letter.txt").read_text()
    assert f"Subject: [PATCH 0/{len(upstream)}] um: " in letter
    for path in SERIES:
        if path.name in upstream:
            assert not re.search("netwarp", path.read_text().partition("\n---\n")[2]), shown(path)


@pytest.mark.parametrize("path", PATCHES, ids=shown)
def test_each_change_has_a_subject_and_says_why_and_what(path: Path) -> None:
    header = HEADER.match(path.read_text())
    assert header
    assert len(header["subject"]) <= 72
    assert not header["subject"].endswith(".")
    why, *what = header["description"].split("\n\n")
    assert why
    assert what, "a problem and its change are two paragraphs"
    assert max(map(len, header["description"].splitlines())) <= 75
