"""Measurements that other scripts took → a result: what `netwarp import` reads. It writes records, no metrics."""
