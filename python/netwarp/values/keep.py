"""The choices of the records that remain in a run's directory after its metrics have been computed."""

from typing import Literal

Keep = Literal["records", "series", "summary"]
"""`records`: everything. `series`: no table that has a row for each packet, ACK or datagram. `summary`: no table of
records, but metrics, captures, and programs' output."""
EVERYTHING: Keep = "records"
