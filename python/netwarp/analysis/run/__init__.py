"""One run as a whole: all its metrics, its values over time, and its validity."""
