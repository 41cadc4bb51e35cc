"""Accounts of flows (`flows.arrows`) whose ends wrote them on different machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from netwarp.lab_format.model import LabFlow
from netwarp.store.rows import AccountRow
from netwarp.store.schemas import FLOWS


def planned_end_ns(flow: LabFlow) -> int:
    """When a flow ends if it lasts as long as it was planned, from t0."""
    return flow.start_ns + flow.duration_ns


def merged_account(rows: Sequence[AccountRow], flow: LabFlow) -> AccountRow:
    """One row with the values from a flow's source, which is first, and from its destination."""
    known = [{name: cell for name, cell in row.items() if cell is not None} for row in rows]
    row: dict[str, object] = {**dict.fromkeys(FLOWS.schema.names), **known[-1], **known[0]}
    ends = [other["end_ns"] for other in rows if other["end_ns"] != planned_end_ns(flow)]
    return cast(AccountRow, row | {"end_ns": ends[0] if ends else planned_end_ns(flow)})
