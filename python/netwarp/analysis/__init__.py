"""Pure functions from records to metrics, validity and series."""
