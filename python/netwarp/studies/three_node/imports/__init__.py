"""Imports measurements of the scripts as a result (`netwarp.imports`). It writes records, not metrics."""
