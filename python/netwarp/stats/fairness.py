"""Measures of fairness: Jain's index, and the ratio of the largest share to the smallest."""

from collections.abc import Sequence


def jain_index(shares: Sequence[float]) -> float | None:
    """Jain's index (Σx)² / (n Σx²): 1 if all shares are equal, 1/n if one has all.

    R. Jain, D. Chiu, W. Hawe: A Quantitative Measure of Fairness and Discrimination for Resource Allocation in Shared
    Computer Systems, DEC-TR-301, 1984. None for fewer than two shares, or if all are 0, since it has no meaning there.
    """
    squares = sum(x * x for x in shares)
    if len(shares) < 2 or squares == 0:
        return None
    return sum(shares) ** 2 / (len(shares) * squares)


def largest_to_smallest(shares: Sequence[float]) -> float | None:
    """The largest share divided by the smallest; None for fewer than two, or if the smallest is 0."""
    if len(shares) < 2 or min(shares) == 0:
        return None
    return max(shares) / min(shares)
