"""The tables of clients of HTTP: pages with their objects, and videos."""

from netwarp.store.codes import PLAYBACK_STATES
from netwarp.store.table import Table, column, listed_codes

PAGES = Table(
    "pages",
    "one page that a client of HTTP began to load",
    "agent, exact, where there are HTTP flows",
    (
        column("flow_id", "u32", "", "the flow's number in the lab"),
        column("page", "u32", "", "its number in the flow, from 0"),
        column("start_ns", "i64", "ns", "when its load began, before there was a connection, from t0"),
        column("connected_ns", "i64?", "ns", "when its first connection could send requests, from t0; or absent"),
        column(
            "first_byte_ns",
            "i64?",
            "ns",
            "when the head of the document's response was there, from t0; or absent",
        ),
        column("end_ns", "i64?", "ns", "when the last byte of its last object arrived, from t0; or absent"),
        column("objects", "u32", "", "its objects, the document included"),
        column("bytes", "u64", "bytes", "their content, without headers"),
        column("connections", "u32", "", "connections that it opened"),
    ),
)

OBJECTS = Table(
    "objects",
    "one object of a page; times are from t0, and absent if that never happened",
    "agent, exact, where there are HTTP flows",
    (
        column("flow_id", "u32", "", "the flow's number in the lab"),
        column("page", "u32", "", "the page's number in the flow"),
        column("object", "u32", "", "its number in the page: 0 is the document"),
        column("parent", "u32?", "", "the object that names it; absent for the document"),
        column("urgency", "u8", "", "of its request (RFC 9218): 0 is the most urgent, 3 the default"),
        column("connection", "u32?", "", "the page's connection that carries it, from 0"),
        column("known_ns", "i64?", "ns", "when the client knew of it: its parent was complete"),
        column("sent_ns", "i64?", "ns", "when its request was handed to a connection"),
        column("first_byte_ns", "i64?", "ns", "when the head of its response was there"),
        column("end_ns", "i64?", "ns", "when its last byte could be read"),
        column("bytes", "u64", "bytes", "its content, without headers"),
    ),
)

SEGMENTS = Table(
    "segments",
    "one segment that a player of a video requested; times are from t0",
    "agent, exact, where there are video flows",
    (
        column("flow_id", "u32", "", "the flow's number in the lab"),
        column("segment", "u32", "", "its number in the video, from 0"),
        column("level", "u8", "", "the number of its bitrate in the ladder, from 0"),
        column("bitrate_bps", "u64", "bit/s", "its bitrate in the ladder"),
        column("bytes", "u64", "bytes", "its content, without headers"),
        column("requested_ns", "i64", "ns", "when its request was handed to the connection"),
        column("first_byte_ns", "i64?", "ns", "when the head of its response was there; or absent"),
        column("end_ns", "i64?", "ns", "when its last byte could be read; absent if it never could"),
        column("buffer_ns", "i64", "ns", "playback in the buffer when its bitrate was decided"),
        column(
            "buffer_end_ns",
            "i64?",
            "ns",
            "the same at its end, with this segment; absent if it was not there, or the viewer had left",
        ),
        column("throughput_bps", "f64?", "bit/s", "its bytes over the time from its request to its end"),
        column(
            "expected_bps",
            "f64?",
            "bit/s",
            "the throughput that its bitrate was decided for; absent if the player looks at none, or had seen none",
        ),
    ),
)

PLAYBACK = Table(
    "playback",
    "one stretch of time in which the playback of a video was in one state; times are from t0",
    "agent, exact, where there are video flows",
    (
        column("flow_id", "u32", "", "the flow's number in the lab"),
        column("state", "u8", "", listed_codes(PLAYBACK_STATES)),
        column("start_ns", "i64", "ns", "when it began"),
        column("end_ns", "i64?", "ns", "when it ended; absent: it lasted until the flow's end"),
    ),
)
