"""Work on threads: in order, the first error, and nothing left changed."""

import sys

import pytest
from netwarp.common.threads import on_each


def test_the_order_stays_and_so_does_the_interpreter() -> None:
    before = sys.getswitchinterval()
    assert on_each(lambda x: on_each(lambda y: x + y, [1, 2]), range(20)) == [[n + 1, n + 2] for n in range(20)]
    assert sys.getswitchinterval() == before


def test_an_error_is_raised() -> None:
    before = sys.getswitchinterval()
    with pytest.raises(ZeroDivisionError):
        on_each(lambda x: 1 / x, [1, 0, 2])
    assert sys.getswitchinterval() == before
