"""Figures of metrics: bars, boxes, lines, heatmaps, distributions."""
