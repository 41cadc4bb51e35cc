"""The functions with which scripts read records, as the text that is put into a script."""

TABLE = '''
def table(run, name):
    """One table of a run's records."""
    return pl.read_ipc_stream(RESULT / "runs" / run / f"{name}.arrows")
'''

WINDOW = '''
def window(run, ids):
    """The congestion window after each ACK: of a flow's connections together."""
    acks = table(run, "acks").filter(pl.col("tuple_id").is_in(ids)).sort("time_ns", maintain_order=True)
    cwnd = pl.col("snd_cwnd_pkts").cast(pl.Int64)
    change = cwnd - cwnd.shift(1).over("tuple_id").fill_null(0)
    return acks["time_ns"] / 1e9, acks.select(change.cum_sum()).to_series()
'''

SAMPLED_WINDOW = '''
def sampled_window(run, ports):
    """The congestion window as it was sampled; `ports` are (source, port, destination, port) of the connections."""
    key = ["source", "source_port", "destination", "destination_port"]
    wanted = pl.DataFrame(ports, schema=key, orient="row").cast({name: pl.UInt16 for name in key[1::2]})
    samples = table(run, "sockets").drop_nulls(["bytes_acked", "snd_cwnd_pkts", "rtt_us", "total_retrans"])
    samples = samples.join(wanted, on=key).sort("time_ns", maintain_order=True)
    cwnd = pl.col("snd_cwnd_pkts").cast(pl.Int64)
    change = cwnd - cwnd.shift(1).over(key).fill_null(0)
    samples = samples.with_columns(window=change.cum_sum()).unique("time_ns", keep="last", maintain_order=True)
    return samples["time_ns"] / 1e9, samples["window"]
'''

RTT = '''
def rtt(run, ids):
    """The RTT sample of each ACK in ms."""
    acks = table(run, "acks").filter(pl.col("tuple_id").is_in(ids), pl.col("rtt_us") >= 0)
    acks = acks.sort("time_ns", maintain_order=True)
    return acks["time_ns"] / 1e9, acks["rtt_us"] / 1e3
'''

PING = '''
def echo(run, flow_id):
    """The RTT of each echo request in ms, when its reply came; a gap where none did."""
    pings = table(run, "pings").filter(pl.col("flow_id") == flow_id).sort("sent_ns")
    came = pl.col("sent_ns") + pl.col("rtt_ns").fill_null(0)
    came = pl.when(pl.col("rtt_ns").is_null()).then(came.cum_max()).otherwise(came)
    pings = pings.with_columns(came=came).sort("came", maintain_order=True)
    return pings["came"] / 1e9, pings["rtt_ns"].cast(pl.Float64).fill_null(float("nan")) / 1e6
'''

QUEUE = '''
def queue(run, interface):
    """The length of a queue after each instant with arrivals or departures: arrivals minus departures so far."""
    packets = table(run, "packets").filter(
        pl.col("interface_index") == interface, ~((pl.col("fate") == 1) & (pl.col("drop_ns") == pl.col("enqueue_ns")))
    )
    size = pl.col("segments").cast(pl.Int64)
    came = packets.select(time_ns="enqueue_ns", change=size)
    gone = packets.filter(pl.col("fate") != 2).select(
        time_ns=pl.when(pl.col("fate") == 0).then("dequeue_ns").otherwise("drop_ns"), change=-size
    )
    steps = pl.concat([came, gone]).group_by("time_ns").agg(pl.sum("change")).sort("time_ns")
    return steps["time_ns"] / 1e9, steps["change"].cum_sum()
'''

SAMPLED_QUEUE = '''
def sampled_queue(run, interface, parent):
    """The length of a queue as it was sampled."""
    samples = table(run, "queues").filter(pl.col("interface_index") == interface, pl.col("parent") == parent)
    samples = samples.sort("time_ns")
    return samples["time_ns"] / 1e9, samples["length_pkts"]
'''

GOODPUT = '''
def goodput(run, ids, interval_ns, intervals):
    """Payload that became readable in each interval in Mbit/s, in order, by the interval's middle."""
    arrived = table(run, "arrivals").filter(pl.col("tuple_id").is_in(ids))
    number = pl.max_horizontal(pl.col("time_ns") - 1, 0) // interval_ns
    sums = arrived.group_by(number=number).agg(pl.col("in_order_bytes").sum())
    first, count = intervals
    every = pl.DataFrame({"number": range(first, first + count)}).cast(pl.Int64)
    found = every.join(sums, on="number", how="left").sort("number").fill_null(0)
    return (found["number"] + 0.5) * (interval_ns / 1e9), found["in_order_bytes"] * 8e3 / interval_ns
'''

INTERFACE = '''
def interface(run, index, interval_ns):
    """The rate at which an interface sent in each interval in Mbit/s, from samples of its counter."""
    samples = table(run, "links").filter(pl.col("interface_index") == index).sort("time_ns")
    samples = samples.select("time_ns", pl.col("tx_bytes").cast(pl.Float64))
    edges = pl.DataFrame({"time_ns": range(0, samples["time_ns"][-1] + 1, interval_ns)}).cast(pl.Int64)
    both = pl.concat([samples, edges.join(samples, on="time_ns", how="anti").with_columns(tx_bytes=None)])
    both = both.sort("time_ns").with_columns(pl.col("tx_bytes").interpolate_by("time_ns").backward_fill())
    sent = both.join(edges, on="time_ns", how="semi")["tx_bytes"].diff()[1:]
    return (edges["time_ns"][:-1] + interval_ns / 2) / 1e9, sent * 8e3 / interval_ns
'''

BBR = '''
def bbr(run, ids, column, unit):
    """A column of BBR's state after each ACK."""
    acks = table(run, "acks").filter(pl.col("tuple_id").is_in(ids)).sort("time_ns", maintain_order=True)
    acks = acks.drop_nulls(["bbr_pacing_gain", "bbr_cwnd_gain", "bbr_bw_bps"])
    return acks["time_ns"] / 1e9, acks[column] / unit
'''

IPERF3 = '''
def reported(run, file, start_s):
    """The rate that iperf3 printed for each interval, in Mbit/s."""
    document = json.loads((RESULT / "runs" / run / file).read_text())
    sums = [interval["sum"] for interval in document["intervals"]]
    sums = [one for one in sums if one["end"] - one["start"] > 0.5 * (sums[0]["end"] - sums[0]["start"])]
    middles = [start_s + (one["start"] + one["end"]) / 2 for one in sums]
    return middles, [one["bits_per_second"] / 1e6 for one in sums]
'''
