"""Metrics of queues and links: lengths, sojourn times, drops, utilisation."""
