"""`http` on the real engine: page loads by closed forms and beside nginx and curl, and the tables of objects."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from e2e_command import netwarp
from e2e_runs import Runs, only_run
from e2e_traffic import SECOND, account, flow, pair, values
from netwarp.store.digests import read_digests
from netwarp.store.rundir import RunDir

MS = 10**6
DOCUMENT = 1000
PLAIN = ('version = "1.1"', "tls = false")
KINDS = {
    "plain": (PLAIN, 2, 0),
    "tls": (('version = "1.1"',), 3, 0),
    "two": (('version = "2"',), 3, 0),
    "three": (('version = "3"',), 2, 3),
    "resumed": (('version = "3"', "zero_rtt = true"), 1, 1),
}
"""Flows: their fields, the round trips of a small page, and with QUIC the full datagrams that its response awaits."""
FRAME, RESPONSE = 1514, 1000 + 268
"""Bytes of a full datagram's frame, and of the response's, with its head."""


def page(name: str, *lines: str, start: int = 0) -> str:
    return flow(name, "http", f'document = "{DOCUMENT}B"', f'start = "{start}s"', *lines)


def failed(scenario: str, place: Path) -> RunDir:
    """The only run of a scenario, which must fail."""
    (place / "s.toml").write_text(scenario)
    answer = netwarp("run", place / "s.toml", "--no-plots", "-o", place / "r")
    assert answer.code == 3, answer.err
    return only_run(place / "r")


def pages(run: RunDir, name: str) -> pl.DataFrame:
    return run.scan("pages").filter(flow_id=account(run, name)["flow_id"]).collect()


def objects(run: RunDir, name: str) -> pl.DataFrame:
    return run.scan("objects").filter(flow_id=account(run, name)["flow_id"]).collect()


def serialised_ns(run: RunDir, start_ns: int, end_ns: int, mbps: int) -> float:
    """How long the link was busy between two instants, in either direction."""
    sent = run.scan("packets").filter(pl.col("enqueue_ns").is_between(start_ns, end_ns)).collect()
    return int(sent["packet_bytes"].sum()) * 8e3 / mbps


@pytest.mark.parametrize(("mbps", "delay"), [(10, 20), (100, 75)])
def test_a_small_page_takes_whole_round_trips(runs: Runs, mbps: int, delay: int) -> None:
    """TCP's handshake, that of TLS 1.3, and the exchange; QUIC's handshake and the exchange, or with 0-RTT this alone.

    What exceeds these is serialisation.
    """
    flows = [page(name, "pages = 1", *lines, start=n + 1) for n, (name, (lines, _, _)) in enumerate(KINDS.items())]
    run = runs(pair("".join(flows), rate=f"{mbps}mbit", delay=f"{delay}ms", duration="7s"))
    for n, (name, (_, trips, full)) in enumerate(KINDS.items()):
        found, ((start_ns, end_ns),) = values(run, name), pages(run, name).select("start_ns", "end_ns").rows()
        assert start_ns == (n + 1) * SECOND
        least = trips * 2 * delay * MS
        # With TCP one packet follows the other.
        busy = (full * FRAME + RESPONSE) * 8e3 / mbps if full else serialised_ns(run, start_ns, end_ns, mbps)
        assert least < end_ns - start_ns
        assert (end_ns - start_ns - least) / MS == pytest.approx(busy / MS, abs=1), name
        assert found["page_load_ms_mean"] == pytest.approx((end_ns - start_ns) / MS)
        assert found["page_load_rtts_mean"] == pytest.approx((end_ns - start_ns) / (2 * delay * MS))
        assert found["ttfb_rtts_p50"] <= found["page_load_rtts_p50"]
        assert (found["pages"], found["pages_incomplete"]) == (1, 0)
        assert account(run, name)["received_bytes"] == DOCUMENT


NGINX = (
    f"mkdir www; head -c {DOCUMENT} /dev/zero > www/file; "
    "openssl req -x509 -newkey ed25519 -nodes -keyout key.pem -out cert.pem -days 1 -subj /CN=netwarp 2>&1; "
    "printf 'pid /run/nginx.pid; error_log stderr; events {} http { access_log off; ssl_protocols TLSv1.3; "
    "ssl_certificate %s/cert.pem; ssl_certificate_key %s/key.pem; "
    "server { listen 8080; listen 8443 ssl http2; root %s/www; } }' $PWD $PWD $PWD > nginx.conf; "
    "exec nginx -g 'daemon off;' -c $PWD/nginx.conf"
)
CURL = (
    "set -e; for at in http://{destination}:8080 https://{destination}:8443; do "
    "curl -ksS --http2 -o got -w '%{json}\\n' $at/file; rm got; done"
)


def test_nginx_and_curl_take_as_long(runs: Runs) -> None:
    """The same page from other programs, over the same path: HTTP/1.1 in plain text, and HTTP/2 with TLS 1.3."""
    text = page("plain", "pages = 1", *PLAIN, start=1) + page("two", "pages = 1", start=2)
    web = flow(
        *("web", "command", 'ready = "port 8443"', 'start = "3s"'),
        *(f'server = ["sh", "-c", {json.dumps(NGINX)}]', f'client = ["sh", "-c", {json.dumps(CURL)}]'),
    )
    run = runs(pair(text + web, delay="20ms", duration="5s"))
    lines = [json.loads(line) for line in (run.path / "web-client.out").read_text().splitlines()]
    assert [(line["size_download"], line["http_version"]) for line in lines] == [(DOCUMENT, "1.1"), (DOCUMENT, "2")]
    for name, told in zip(("plain", "two"), lines, strict=True):
        assert 1e3 * told["time_starttransfer"] == pytest.approx(values(run, name)["ttfb_ms_mean"], abs=1), name


def test_objects_are_fetched_when_they_are_known(runs: Runs) -> None:
    """Six connections with HTTP/1.1, of which each has one object at a time, and one with many streams otherwise."""
    lines = ("pages = 2", "objects = 20", 'object_size = "20kB lognormal 1"', "depth = 2", 'think = "100ms"')
    text = "".join(
        page(name, *lines, f'version = "{version}"', start=start)
        for name, version, start in (("one", "1.1", 0), ("two", "2", 5), ("three", "3", 10))
    )
    run = runs(pair(text, delay="20ms", duration="15s", queue="pfifo limit 100", router=True))
    for name, connections in (("one", 6), ("two", 1), ("three", 1)):
        found, loads = objects(run, name), pages(run, name)
        assert loads["connections"].to_list() == [connections] * 2
        assert loads["start_ns"][1] - loads["end_ns"][0] == 100 * MS
        assert found.height == 2 * 21
        assert set(found["connection"]) == set(range(connections))
        assert loads["bytes"].sum() == found["bytes"].sum() == account(run, name)["received_bytes"]
        assert (
            loads["end_ns"].to_list()
            == found.group_by("page").agg(pl.col("end_ns").max()).sort("page")["end_ns"].to_list()
        )
        parents = found.select("page", parent="object", parent_ns="end_ns")
        named = found.join(parents, on=["page", "parent"], how="inner")
        assert named.height == 2 * 20
        assert (named["known_ns"] == named["parent_ns"]).all()
        in_order = found.select(pl.all_horizontal(pl.col(a) <= pl.col(b) for a, b in STAMPS)).to_series()
        assert in_order.all()
        own = found.sort("page", "connection", "sent_ns").with_columns(
            before=pl.col("end_ns").shift(1).over("page", "connection")
        )
        overlap = own.filter(pl.col("sent_ns") < pl.col("before")).height
        assert (overlap == 0) == (name == "one"), "one object at a time"


STAMPS = (("known_ns", "sent_ns"), ("sent_ns", "first_byte_ns"), ("first_byte_ns", "end_ns"))


def test_objects_that_come_one_by_one_are_never_together(runs: Runs) -> None:
    """A page of a document, of one object more, of a chain of objects, or over one connection of HTTP/1.1."""
    several = ("objects = 4", 'object_size = "1kB"', "pages = 1")
    flows = {
        "document": ("pages = 1",),
        "one": ("objects = 1", "pages = 1"),
        "chain": (*several, "depth = 4"),
        "serial": (*several, 'version = "1.1"', "connections = 1"),
        "levels": (*several, "depth = 3"),
        "parallel": (*several, 'version = "1.1"', "connections = 2"),
    }
    text = "".join(page(name, *lines, start=start) for start, (name, lines) in enumerate(flows.items()))
    run = runs(pair(text, delay="10ms", duration="7s"))
    known = {name: values(run, name).get("objects_together_pct") for name in flows}
    assert {name for name, value in known.items() if value is not None} == {"levels", "parallel"}
    assert all(values(run, name)["pages"] == 1 for name in flows)


def test_urgent_objects_come_first_over_quic(runs: Runs) -> None:
    lines = ("pages = 1", "objects = 10", "urgent = 2", 'object_size = "60kB"', 'version = "3"')
    found = objects(runs(pair(page("page", *lines), delay="10ms")), "page").filter(pl.col("object") > 0)
    urgent, usual = (found.filter(urgency=urgency)["end_ns"].to_list() for urgency in (1, 3))
    assert (len(urgent), len(usual)) == (2, 8)
    assert max(urgent) < min(usual)
    # Without urgency all streams take turns, and end together.
    text = pair(page("page", *(line for line in lines if "urgent" not in line)), delay="10ms")
    plain = objects(runs(text), "page").filter(pl.col("object") > 0)["end_ns"].to_list()
    assert max(plain) - min(plain) < 0.1 * (max(usual) - min(urgent))


def test_pages_arrive_whether_or_not_others_are_complete(runs: Runs) -> None:
    """A page of 100 kB takes 80 ms of the link and some round trips, and another begins every 100 ms."""
    text = pair(
        flow("page", "http", 'document = "100kB"', 'arrivals = "every 100ms"', 'version = "3"', 'duration = "1s"'),
        delay="50ms",
        duration="5s",
    )
    found = pages(runs(text), "page")
    assert found["start_ns"].to_list() == [100 * MS * n for n in range(10)]
    assert (found["end_ns"][:-1] > found["start_ns"][1:]).all()
    assert found["end_ns"].null_count() == 0


def test_two_runs_have_the_same_bytes(runs: Runs) -> None:
    lines = ("objects = 10", 'object_size = "10kB exponential"', 'think = "50ms exponential"')
    text = pair(
        "".join(page(f"v{n}", *lines, f'version = "{version}"') for n, version in enumerate(("1.1", "2", "3"))),
        queue="pfifo limit 40",
        link='loss = "1%"',
        router=True,
    )
    digests = [read_digests(only_run(runs.result(text, *more)).path) for more in ((), ("--seeds", "1"))]
    assert {"pages.arrows", "objects.arrows", "packets.arrows"} <= digests[0].keys()
    assert digests[0] == digests[1]


def test_a_server_that_never_answers_has_no_page(runs: Runs) -> None:
    run = runs(pair(page("two", 'version = "2"') + page("three", 'version = "3"'), link="loss = '100%'"))
    assert "never connected: the network lost its packets" in str(run.status())
    for name in ("two", "three"):
        assert pages(run, name).select("connected_ns", "end_ns").rows() == [(None, None)]
        assert values(run, name)["pages_incomplete"] == 1


def test_small_pages_are_all_resumed(runs: Runs) -> None:
    """A page of one round trip is over before its connection brings tickets, also without a pause."""
    names = {"paused": 'think = "20ms"', "at-once": 'think = "0s"'}
    lines = ('version = "3"', "zero_rtt = true", "pages = 12")
    text = "".join(page(name, *lines, think, start=2 * n + 1) for n, (name, think) in enumerate(names.items()))
    run = runs(pair(text, delay="20ms", duration="5s"))
    for name in names:
        loads = pages(run, name).select(pl.col("end_ns") - pl.col("start_ns")).to_series()
        assert loads.len() == 12
        assert (loads.is_between(40 * MS, 44 * MS)).all(), (name, loads.to_list())


REFUSED = flow(
    *("refused", "command", 'start = "1s"'),
    'client = ["sh", "-c", "ip route add unreachable {destination}/32"]',
)


@pytest.mark.parametrize("version", ["1.1", "2"])
def test_a_page_that_fails_at_once_ends_its_flow(tmp_path: Path, version: str) -> None:
    """Without a pause the next page would fail at the same instant, and virtual time would stand still."""
    run = failed(pair(page("page", f'version = "{version}"', "think = '0s'") + REFUSED, duration="3s"), tmp_path)
    found = pages(run, "page")
    assert f"page {found.height - 1}: cannot connect to 10.0.0.2" in str(run.status()["reason"])
    assert found["end_ns"].null_count() == 1
    assert found["start_ns"][-1] == pytest.approx(SECOND, abs=200 * MS)


BRIEFLY = flow(
    *("briefly", "command", 'start = "100ms"'),
    'client = ["sh", "-c", "ip route add $0; sleep 0.05; ip route del $0", "prohibit {destination}/32"]',
    ends=("r1", "h2"),
)


def test_what_icmp_says_of_one_connection_ends_no_later_one(runs: Runs) -> None:
    """r1 refuses packets while the first page is loaded (type 3, code 13); the second has its own connection."""
    text = page("page", 'version = "3"', "pages = 2", 'think = "600ms"').replace("1000B", "300kB")
    run = runs(pair(text + BRIEFLY, router=True, delay="20ms", duration="5s"))
    (first_ns, _), ends_ns = pages(run, "page")["start_ns"], pages(run, "page")["end_ns"]
    assert first_ns < 100 * MS < 150 * MS < ends_ns[0] < ends_ns[1]


def test_a_connection_that_times_out_is_a_result(runs: Runs) -> None:
    """An outage that is longer than TCP's retransmissions, while responses arrive and other requests leave."""
    sysctl = '{ sysctl = { "net.ipv4.tcp_retries2" = 3, "net.ipv4.tcp_syn_retries" = 2 } }'
    lines = ("pages = 1", "objects = 20", 'object_size = "100kB exponential"', "depth = 2")
    text = pair(
        page("one", 'version = "1.1"', *lines) + page("two", 'version = "2"', *lines),
        nodes=f"h1 = {sysctl}\nh2 = {sysctl}",
        delay="20ms",
        duration="30s",
        tail='[[changes]]\nat = "1s"\nlink = "wire"\noutage = "25s"\n',
    )
    run = runs(text)
    for name in ("one", "two"):
        assert account(run, name)["error"] is None
        assert pages(run, name)["end_ns"].to_list() == [None]


def test_a_dead_path_leaves_the_first_page_without_a_ticket(runs: Runs, tmp_path: Path) -> None:
    """It is not complete; if the path is only longer than `resume_ahead`, the flow fails when a ticket comes."""
    lines = ('version = "3"', "zero_rtt = true")
    run = runs(pair(page("page", *lines, start=1), link="loss = '100%'", duration="3s"))
    assert "never connected: the network lost its packets" in str(run.status())
    assert pages(run, "page").select("start_ns", "connected_ns", "end_ns").rows() == [(SECOND, None, None)]
    assert (values(run, "page")["pages"], values(run, "page")["pages_incomplete"]) == (0, 1)
    late = failed(pair(page("page", *lines, 'resume_ahead = "150ms"', start=1), delay="50ms"), tmp_path)
    assert "had no session ticket when the flow began" in str(late.status()["reason"])


def test_the_servers_of_http3_record_their_state(runs: Runs) -> None:
    """RTTs, windows and losses of each page's connection, with losses that are exactly known."""
    lines = ('version = "3"', "objects = 20", 'object_size = "20kB"', 'think = "500ms"')
    link = 'wire = "device"\nloss = { reverse = "every 60" }'
    run = runs(pair(page("pages", *lines), rate="20mbit", delay="20ms", link=link, duration="20s"))
    rows = run.scan("quic_acks").collect()
    loaded = pages(run, "pages").height
    assert rows["connection"].unique().sort().to_list() == list(range(loaded))
    each = rows.group_by("connection").agg(pl.max("lost_pkts", "sent_pkts", "acked_bytes"), pl.min("rtt_ns"))
    # Two datagrams cross: the server's, and an acknowledgement.
    assert each["rtt_ns"].min() / MS == pytest.approx(40, abs=1.2)  # type: ignore[operator]
    found, packets = values(run, "pages"), run.scan("packets").collect()
    sent = packets.filter(pl.col("interface_index") == packets["interface_index"].max())
    assert each["sent_pkts"].sum() == pytest.approx(sent.height, abs=3 * loaded)
    lost = sent.height // 60
    assert found["retransmits"] == each["lost_pkts"].sum()
    assert 0 <= lost - found["retransmits"] <= 3, "the last of a connection are not declared lost"
    assert lost > 50
    assert 40 < found["srtt_ms_mean"] < 60
    assert found["cwnd_pkts_mean"] > 8
