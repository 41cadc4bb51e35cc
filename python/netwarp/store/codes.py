"""Codes in columns of records. The agent's fates are generated from here; the kernel's header has the same places."""

from enum import IntEnum


class Fate(IntEnum):
    """The fate of a packet in a queue: `packets.arrows`, column `fate`."""

    SENT = 0
    DROPPED = 1
    QUEUED = 2
    TAKEN = 3


FATES = {
    Fate.SENT: "sent",
    Fate.DROPPED: "dropped",
    Fate.QUEUED: "still queued at the end",
    Fate.TAKEN: "taken elsewhere by an action of a filter",
}


class Usage(IntEnum):
    """The use of the path's capacity that the over-use detector of a media stream sees: `rate_control.arrows`, column
    `usage`."""

    NORMAL = 0
    OVER = 1
    UNDER = 2


USAGES = {Usage.NORMAL: "normal", Usage.OVER: "over-use", Usage.UNDER: "under-use"}


class RateState(IntEnum):
    """The state of the rate control of a media stream: `rate_control.arrows`, column `state`."""

    HOLD = 0
    INCREASE = 1
    DECREASE = 2


RATE_STATES = {RateState.HOLD: "hold", RateState.INCREASE: "increase", RateState.DECREASE: "decrease"}


class PlaybackState(IntEnum):
    """The state of a video's playback: `playback.arrows`, column `state`."""

    STARTING = 0
    PLAYING = 1
    STALLED = 2


PLAYBACK_STATES = {
    PlaybackState.STARTING: "waiting for its first segments",
    PlaybackState.PLAYING: "playing",
    PlaybackState.STALLED: "stalled: the buffer ran empty",
}


class QuicEvent(IntEnum):
    """An event that a QUIC sender's congestion control saw: `quic_acks.arrows`, column `event`."""

    ACKNOWLEDGED = 0
    LOSS = 1
    CONGESTION = 2
    PERSISTENT = 3


QUIC_EVENTS = {
    QuicEvent.ACKNOWLEDGED: "an acknowledgement",
    QuicEvent.LOSS: "a loss that did not lower the window, mostly since one of the same round trip has done so",
    QuicEvent.CONGESTION: "a loss, or an ECN mark, that lowered the window",
    QuicEvent.PERSISTENT: "persistent congestion, which lowered it to its minimum",
}


class Place(IntEnum):
    """The place where a packet was seen last: `drops.arrows`, column `place`; enum netwarp_place of linux/netwarp.h."""

    LOCAL = 0
    OUTPUT = 1
    QUEUED = 2
    SENT = 3
    RECEIVED = 4
    DELIVERED = 5


PLACES = {
    Place.LOCAL: "created by the node, and not yet at an interface",
    Place.OUTPUT: "on its way to the interface's queue",
    Place.SENT: "sent: on the wire",
    Place.RECEIVED: "arrived at the interface",
    Place.DELIVERED: "handed to the node's own transport",
}
"""The places that the table has; packets that are dropped in a queue are in `packets.arrows`."""


class Sight(IntEnum):
    """An event of a namespace or an interface: column `event` of `namespaces.arrows` and `devices.arrows`; enum
    netwarp_event of linux/netwarp.h."""

    MADE = 1
    NAMED = 2
    THERE = 3
    GONE = 4
    LAST = 5


SIGHTS = {
    Sight.MADE: "made",
    Sight.NAMED: "given a name",
    Sight.THERE: "exists, in this state from now on",
    Sight.GONE: "has left the namespace",
    Sight.LAST: "exists at the end",
}
