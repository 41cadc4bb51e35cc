"""Videos that are streamed: when playback began and stalled, which bitrates it had, and how good it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from netwarp.stats import censoring
from netwarp.stats.censoring import Durations
from netwarp.stats.weighting import Times, Values, Window
from netwarp.store.codes import PlaybackState
from netwarp.store.rundir import RunDir
from netwarp.values.constants import NS_PER_S, QOE_STALL_COST_MBPS, QOE_SWITCH_COST

_PER_MBPS = 1e6


@dataclass(frozen=True)
class Period:
    """A stretch of time in which playback was in one state, and whether it ended in the flow's time."""

    state: PlaybackState
    window: Window
    ended: bool


@dataclass(frozen=True)
class Video:
    """The video of one flow: its segments in order, a row of the table each, of which those `delivered` were put into
    the buffer; the states of its playback, in order of time; how much playback a segment has."""

    segments: pl.DataFrame
    periods: Sequence[Period]
    segment_ns: int

    @property
    def delivered(self) -> pl.DataFrame:
        """The segments that were put into the buffer."""
        return self.segments.filter(pl.col("buffer_end_ns").is_not_null())

    def time_ns(self, state: PlaybackState, window: Window) -> int:
        """How long playback was in a state, within a window."""
        return sum(one.window.within(window).length_ns for one in self.periods if one.state is state)

    def startup(self) -> Durations:
        """The time until playback began, in s."""
        first = [one for one in self.periods if one.state is PlaybackState.STARTING]
        return Durations(
            np.array([one.window.seconds for one in first]), np.array([one.ended for one in first], np.bool_)
        )

    def stalls_in(self, window: Window) -> int:
        """The stalls that began in a window."""
        begun = np.array([one.window.start_ns for one in self.periods if one.state is PlaybackState.STALLED], np.int64)
        return int(window.mask(begun).sum())

    def bitrates_in(self, window: Window) -> tuple[Values, Values]:
        """The bitrates of segments that were delivered in a window, and their steps from the segments before, in
        Mbit/s; the video's first one has none."""
        delivered = self.delivered
        mbps = delivered["bitrate_bps"].to_numpy() / _PER_MBPS
        inside = window.mask(delivered["end_ns"].to_numpy())
        return mbps[inside], np.diff(mbps)[inside[1:]]

    def under_way(self, window: Window) -> int:
        """The segments that were requested before a window's end, and not delivered by then."""
        after = pl.col("buffer_end_ns").is_null() | (pl.col("end_ns") > window.end_ns)
        return self.segments.filter(pl.col("requested_ns") <= window.end_ns, after).height

    def buffer_curve(self, window: Window | None = None) -> tuple[Times, Values, Values]:
        """The level of the buffer in s, which is straight in between: instants at which it bends or jumps, those of a
        window with its bounds, and the levels before and after each.

        It is what has been delivered, less what has been played.
        """
        ends: Times = self.delivered["end_ns"].to_numpy()
        bends = [edge for one in self.periods for edge in one.window.bounds]
        bounds = window.bounds if window else ()
        times = np.unique(np.concatenate([ends, np.array([*bends, *bounds], np.int64)]))
        if window:
            times = times[window.mask(times)]
        played = sum(
            (np.clip(times, *one.window.bounds) - one.window.start_ns)
            for one in self.periods
            if one.state is PlaybackState.PLAYING
        )
        before, after = (
            (np.searchsorted(ends, times, side) * self.segment_ns - played) / NS_PER_S for side in ("left", "right")
        )
        return times, before, after

    def mean_level_s(self, window: Window) -> float | None:
        """The mean level of the buffer over the time of a window; None if that is empty."""
        if not window.length_ns:
            return None
        times, before, after = self.buffer_curve(window)
        return float(((after[:-1] + before[1:]) / 2 * np.diff(times)).sum()) / window.length_ns


def load_videos(run: RunDir) -> dict[int, Video]:
    """Load the videos of a run by flow id."""
    flows = {flow.id: flow for flow in run.description.flows if flow.kind.video}
    if not flows:
        return {}
    segments = run.scan("segments").sort("flow_id", "segment", maintain_order=True).collect()
    playback = run.scan("playback").sort("flow_id", "start_ns", maintain_order=True).collect()
    found: dict[int, Video] = {}
    for flow in run.lab.flows:
        if flow.id not in flows:
            continue
        until_ns = min(flows[flow.id].end_ns, run.description.duration_ns)
        rows = playback.filter(flow_id=flow.id).select("state", "start_ns", "end_ns").iter_rows()
        periods = [
            Period(PlaybackState(state), Window(start, until_ns if end is None else end), end is not None)
            for state, start, end in rows
        ]
        found[flow.id] = Video(segments.filter(flow_id=flow.id), periods, flow.number("segment_ns"))
    return found


def video_metrics(parts: Sequence[tuple[Video, Window]]) -> dict[str, float | int | None]:
    """Return how some videos together were played, each in its own window; empty without videos.

    Nothing can stall before the first segment plays: then there are no stalls, not 0 of them.
    """
    if not parts:
        return {}
    played = sum(video.time_ns(PlaybackState.PLAYING, window) for video, window in parts)
    stalled = sum(video.time_ns(PlaybackState.STALLED, window) for video, window in parts)
    watched = stalled + played
    starting = sum(video.time_ns(PlaybackState.STARTING, window) for video, window in parts)
    chosen = [video.bitrates_in(window) for video, window in parts]
    bitrates = np.concatenate([own for own, _ in chosen])
    steps = np.abs(np.concatenate([own for _, own in chosen]))
    switches = steps[steps > 0]
    levels = [level for video, window in parts if (level := video.mean_level_s(window)) is not None]
    times = [window.length_ns for _, window in parts if window.length_ns]
    waited_s = (stalled + starting) / NS_PER_S
    score = bitrates.sum() - QOE_SWITCH_COST * steps.sum() - QOE_STALL_COST_MBPS * waited_s
    return {
        "startup_s_mean": censoring.mean_of(censoring.together([video.startup() for video, _ in parts])),
        "stalls": sum(video.stalls_in(window) for video, window in parts) if watched else None,
        "stalled_s": stalled / NS_PER_S if watched else None,
        "stalled_pct": 100 * stalled / watched if watched else None,
        "bitrate_mbps_mean": float(bitrates.mean()) if len(bitrates) else None,
        "switches": len(switches) if len(bitrates) else None,
        "switch_mbps_mean": float(switches.mean()) if len(switches) else None,
        "buffer_s_mean": float(np.average(levels, weights=times)) if times else None,
        "segments": len(bitrates),
        "segments_incomplete": sum(video.under_way(window) for video, window in parts),
        "qoe_mbps": float(score) / len(bitrates) if len(bitrates) else None,
    }


def playback_spans(video: Video) -> list[tuple[str, float, float]]:
    """The states of a playback by their names, with their beginning and end in s."""
    return [
        (one.state.name.lower(), one.window.start_ns / NS_PER_S, one.window.end_ns / NS_PER_S) for one in video.periods
    ]
