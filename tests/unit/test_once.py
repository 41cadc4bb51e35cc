"""Records that several figures show are read once in a block, and each time outside of one."""

from __future__ import annotations

from netwarp.common.threads import on_each
from netwarp.plots.once import once, reading_once


def test_what_is_read_in_a_block_is_read_once_also_from_threads() -> None:
    read: list[int] = []

    def double(key: int) -> int:
        read.append(key)
        return key * 2

    def number(key: int) -> int:
        return once(key, lambda: double(key))

    with reading_once():
        assert on_each(number, range(20)) == [2 * key for key in range(20)]
        assert [number(key) for key in range(20)] == [2 * key for key in range(20)]
        assert sorted(read) == list(range(20))
        with reading_once():
            assert number(3) == 6
        assert read.count(3) == 2
    number(3)
    number(3)
    assert read.count(3) == 4
