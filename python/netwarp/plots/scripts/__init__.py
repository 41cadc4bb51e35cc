"""Scripts that draw a figure from the records: a few lines of Python with polars and matplotlib, to start from."""
