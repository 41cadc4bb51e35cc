"""Measurements of the scripts → a result: an importer (`netwarp.imports`). It writes records, no metrics."""
