"""Measurements that other scripts took → a result: what `netwarp import` reads. It writes records, no metrics."""

from netwarp.imports.result import Imported, import_result

__all__ = ["Imported", "import_result"]
