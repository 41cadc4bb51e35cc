"""Metrics of flows: goodput, RTT, loss, delay, completion times, fairness."""
