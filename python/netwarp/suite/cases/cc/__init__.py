"""Cases for congestion controls."""
