"""Measurements that other scripts took → a result: what `netwarp import` reads of this study's scripts. It writes records, no metrics."""
