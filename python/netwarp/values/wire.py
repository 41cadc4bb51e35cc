"""The capacity of a wire in packets: netem drops packets beyond its limit, which a wire must never do."""

from netwarp.values.constants import NS_PER_S

MIN_FRAME_BITS = 64 * 8
MAX_LIMIT_PKTS = 2**31 - 1
_SPARE_PKTS = 1000


def longest_delay_ns(delay_ns: int, jitter_ns: int) -> int:
    """The delay that practically no packet exceeds: netem's tables of jitter end at four standard deviations."""
    return delay_ns + 4 * jitter_ns


def limit_pkts(most_bits: int, overhead_bits: int = 0) -> int:
    """The limit of a wire with at most `most_bits` under way, in the smallest frames."""
    return min(most_bits // (MIN_FRAME_BITS + overhead_bits) + _SPARE_PKTS, MAX_LIMIT_PKTS)


def bits_within(rate_bps: int, time_ns: int) -> int:
    """The bits that a rate sends in a time."""
    return rate_bps * time_ns // NS_PER_S
