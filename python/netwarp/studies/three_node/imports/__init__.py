"""Imports measurements of the scripts as a result (`netwarp.steps.imports`). It writes records, not metrics."""
