"""Output of `ss -tinm` in several versions of iproute2. That of 6.1 is recorded (samples/); the others are
written after tcp_show_info() of misc/ss.c of that version: rates are in words (Mbps) until 4.x, in plain bit/s from 5.x
on; bytes_sent came with 4.20, rcv_ooopack and snd_wnd with 5.4, rcv_wnd and rehash with 6.2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from netwarp.store.schemas import SOCKETS
from netwarp.studies.three_node.imports.ss import SsLog, read_ss, rows

SAMPLES = Path(__file__).parent / "samples"
HEAD = "State      Recv-Q Send-Q      Local Address:Port        Peer Address:Port\n"
ENDS = "ESTAB      0      347520     192.168.56.104:51734   192.168.214.104:5201\n"
V4 = (
    "\t skmem:(r0,rb369280,t0,tb463104,f2048,w461824,o0,bl0,d0) ts sack cubic wscale:7,7 rto:228 rtt:26.112/2.021 "
    "mss:1448 rcvmss:536 advmss:1448 cwnd:73 ssthresh:71 bytes_acked:3456789 segs_out:2490 segs_in:1200 "
    "data_segs_out:2488 send 32.4Mbps lastsnd:4 lastrcv:4120 lastack:8 pacing_rate 38.9Mbps delivery_rate 2.8Mbps "
    "busy:4120ms unacked:70 retrans:1/12 sacked:3 rcv_space:29200 notsent:240000 minrtt:0.321\n"
)
V5 = (
    "\t skmem:(r0,rb131072,t0,tb87040,f0,w0,o0,bl0,d0) ts sack ecn bbr wscale:7,9 rto:204 rtt:0.5/0.25 ato:40 mss:1448 "
    "pmtu:1500 rcvmss:536 advmss:1448 cwnd:10 bytes_sent:100 bytes_retrans:20 bytes_acked:80 segs_out:3 segs_in:2 "
    "bbr:(bw:2985184bps,mrtt:20.1,pacing_gain:2.88672,cwnd_gain:2.88672) send 231680000bps lastsnd:12 lastrcv:12 "
    "lastack:12 pacing_rate 463360000bps/1000000000bps delivery_rate 46336000bps delivered:4 app_limited busy:16ms "
    "rwnd_limited:3ms(18.8%) sndbuf_limited:1.5ms(9%) rcv_rtt:1.25 rcv_space:14480 rcv_ssthresh:64088 minrtt:0.019 "
    "rcv_ooopack:27 snd_wnd:64512\n"
)
V6 = (
    "\t ts sack dctcp wscale:7,7 rto:204 backoff:2 rtt:1/0.5 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:10 "
    "bytes_acked:1 dctcp:(ce_state:1,alpha:512,ab_ecn:1000,ab_tot:4000) send 115840000bps pacing_rate 1bps "
    "delivered:1 reord_seen:2 snd_wnd:1 rcv_wnd:65535 rehash:3\n"
)


def only(text: str) -> dict[str, Any]:
    (dump,) = read_ss(text).dumps
    (socket,) = dump.sockets
    return socket


def test_version_4() -> None:
    socket = only(HEAD + ENDS + V4)
    assert socket["state"] == 1
    assert (socket["source"], socket["source_port"]) == ("192.168.56.104", 51734)
    assert (socket["destination"], socket["destination_port"]) == ("192.168.214.104", 5201)
    assert socket["congestion_control"] == "cubic"
    assert (socket["rtt_us"], socket["rttvar_us"], socket["min_rtt_us"]) == (26112, 2021, 321)
    assert (socket["snd_cwnd_pkts"], socket["snd_ssthresh_pkts"]) == (73, 71)
    assert (socket["retrans_pkts"], socket["total_retrans"], socket["unacked_pkts"]) == (1, 12, 70)
    assert (socket["pacing_rate_bps"], socket["delivery_rate_bps"]) == (38_900_000, 2_800_000)
    assert "max_pacing_rate_bps" not in socket
    assert (socket["rto_us"], socket["busy_time_us"]) == (228_000, 4_120_000)
    assert socket["options"] == 1 | 2 | 4
    assert socket["delivery_rate_app_limited"] is False
    assert "bytes_sent" not in socket, "this version does not know it: absent, not 0"
    assert socket["lost_pkts"] == 0, "every version prints it unless it is 0"


def test_version_5() -> None:
    socket = only(HEAD + ENDS + V5)
    assert (socket["congestion_control"], socket["options"]) == ("bbr", 1 | 2 | 4 | 8)
    assert (socket["snd_wscale"], socket["rcv_wscale"]) == (7, 9)
    assert (socket["bbr_bw_bps"], socket["bbr_min_rtt_us"]) == (2985184, 20100)
    assert (socket["bbr_pacing_gain"], socket["bbr_cwnd_gain"]) == (739, 739), "tcp_bbr.c: 2885 ‰ of 256"
    assert (socket["pacing_rate_bps"], socket["max_pacing_rate_bps"]) == (463_360_000, 10**9)
    assert (socket["rwnd_limited_us"], socket["sndbuf_limited_us"]) == (3000, 1500)
    assert socket["delivery_rate_app_limited"] is True
    assert (socket["rcv_rtt_us"], socket["rcv_ooopack"], socket["snd_wnd_bytes"]) == (1250, 27, 64512)
    assert socket["total_retrans"] == 0


def test_version_6_and_dctcp() -> None:
    socket = only(HEAD + ENDS + V6)
    assert socket["congestion_control"] == "dctcp"
    assert (socket["dctcp_enabled"], socket["dctcp_ce_state"], socket["dctcp_alpha"]) == (True, 1, 512)
    assert (socket["dctcp_ab_ecn_bytes"], socket["dctcp_ab_tot_bytes"]) == (1000, 4000)
    assert (socket["backoff"], socket["rehash"], socket["rcv_wnd_bytes"]) == (2, 3, 65535)
    assert socket["delivery_rate_app_limited"] is None


def test_the_recorded_calls() -> None:
    log = read_ss((SAMPLES / "ss-6.1-client.txt").read_text())
    assert log.strange_lines == 0
    assert [len(dump.sockets) for dump in log.dumps] == [0, 3, 3, 3, 3, 0, 0, 0, 1, 1, 1]
    assert [socket["total_retrans"] for socket in log.dumps[2].sockets] == [0, 75, 50]
    server = read_ss((SAMPLES / "ss-6.1-server.txt").read_text())
    assert {socket["source"] for dump in server.dumps for socket in dump.sockets} == {"192.168.214.104"}
    silent = [socket for dump in server.dumps for socket in dump.sockets if socket.get("bytes_acked") == 0]
    assert {socket["bytes_sent"] for socket in silent} == {0}


@pytest.mark.parametrize(
    "text",
    [
        HEAD + ENDS + V5.replace(" cwnd", "\n\t cwnd").replace(" send ", "\n     send "),
        HEAD + ENDS.rstrip() + V5.lstrip("\t"),
        HEAD + ENDS.rstrip() + ' users:(("iperf3",pid=7,fd=5),("a b",pid=8,fd=5)) timer:(on,200ms,0)\n' + V5,
        ENDS.replace("ESTAB      ", "") + V5,
        "Netid " + HEAD + "udp   UNCONN 0 0 0.0.0.0:68 0.0.0.0:*\ntcp   " + ENDS + V5,
        HEAD + ENDS.replace("192.168.56.104", "[::ffff:192.168.56.104]").replace("214.104", "214.104%eth0") + V5,
    ],
    ids=["many lines", "one line (-O)", "processes (-p)", "one state", "all kinds", "mapped and zoned addresses"],
)
def test_other_ways_to_print_the_same(text: str) -> None:
    socket = only(text)
    plain = only(HEAD + ENDS + V5)
    assert socket == plain


@pytest.mark.parametrize(
    ("line", "stamp"),
    [
        ("1729591201.250\n", 1729591201.25),
        ("=== 2024-10-22 10:00:01,5 ===\n", 1729591201.5),
        ("2024-10-22T10:00:01+00:00\n", 1729591201.0),
        ("Tue Oct 22 10:00:01 UTC 2024\n", 36001.0),
        ("10:00:01.75\n", 36001.75),
    ],
)
def test_times_that_a_script_wrote(line: str, stamp: float) -> None:
    log = read_ss(line + HEAD + ENDS + V5 + line + HEAD + ENDS + V5)
    assert [dump.stamp for dump in log.dumps] == [stamp, stamp]
    assert [len(dump.sockets) for dump in log.dumps] == [1, 1]
    assert log.strange_lines == 0


def test_calls_without_headings_begin_where_a_socket_comes_again() -> None:
    other = ENDS.replace("51734", "51736")
    log = read_ss((ENDS + V4 + other + V4) * 3)
    assert [len(dump.sockets) for dump in log.dumps] == [2, 2, 2]


def test_a_counter_that_any_socket_shows_is_0_where_it_is_not_shown() -> None:
    log = read_ss(HEAD + ENDS + V5 + ENDS.replace("51734", "51736") + V5.replace("bytes_retrans:20 ", ""))
    assert [socket["bytes_retrans"] for socket in log.dumps[0].sockets] == [20, 0]


def test_lines_that_mean_nothing_are_counted() -> None:
    log = read_ss("sh: 1: ss: not found\n" + HEAD + ENDS + V4 + "Killed\n")
    assert (log.strange_lines, log.first_strange) == (2, 1)
    assert len(log.dumps) == 1


def test_a_socket_that_has_not_connected_has_ends_alone() -> None:
    socket = only(HEAD + "SYN-SENT 0 1 10.0.0.1:53434 10.0.1.2:5001\n\t cubic rto:1000 mss:524 cwnd:10 unacked:1\n")
    assert socket["state"] == 2
    assert "rtt_us" not in socket


def table(log: SsLog) -> pa.Table:
    times = [0] * len(log.dumps)
    return pa.Table.from_pylist(list(rows(log, times, "client")), schema=SOCKETS.schema)


def test_rows_fit_the_table_and_leave_out_what_has_no_time() -> None:
    log = read_ss((HEAD + ENDS + V4) * 2)
    assert [row["time_ns"] for row in rows(log, [None, 7], "server")] == [7]
    assert table(log).num_rows == 2


WORD = st.sampled_from((HEAD + ENDS + V4 + V5 + V6).split()) | st.text(max_size=8)
LINE = st.builds("{}{}".format, st.sampled_from(["", "\t ", "ESTAB 0 0 "]), st.lists(WORD, max_size=12).map(" ".join))


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(LINE | st.sampled_from([HEAD, ENDS, V4, V5, V6, "10:00:00"]), max_size=12).map("\n".join))
def test_any_words_in_any_order_give_rows_that_fit(text: str) -> None:
    log = read_ss(text)
    assert table(log).num_rows == sum(len(dump.sockets) for dump in log.dumps)


NUMBERS = st.integers(-10, 2**70) | st.floats() | st.text(max_size=6)


@pytest.mark.slow
@settings(deadline=None)
@given(st.sampled_from(V5.split()), NUMBERS)
def test_any_value_of_any_word_gives_a_row_that_fits(word: str, value: object) -> None:
    """Values that are too large for their column, or not numbers, are absent."""
    key = word.partition(":")[0]
    text = HEAD + ENDS + V5.replace(word, f"{key}:{value}")
    assert table(read_ss(text)).num_rows >= 1


@settings(deadline=None)
@given(st.integers(1, 10**6), st.integers(1, 10**9), st.integers(0, 2**31), st.integers(1, 2**32 - 1))
def test_what_ss_prints_of_a_state_is_that_state(rtt_us: int, acked: int, retrans: int, cwnd: int) -> None:
    more = f" retrans:0/{retrans}" if retrans else ""
    told = f"\t ts sack cubic rto:204 rtt:{rtt_us / 1000:g}/1 mss:1448 cwnd:{cwnd} bytes_acked:{acked}{more}\n"
    socket = only(HEAD + ENDS + told)
    assert socket["rtt_us"] == pytest.approx(rtt_us, rel=1e-5), "%g prints six digits"
    assert (socket["bytes_acked"], socket["total_retrans"], socket["snd_cwnd_pkts"]) == (acked, retrans, cwnd)
