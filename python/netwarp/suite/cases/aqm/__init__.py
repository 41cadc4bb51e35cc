"""Cases for queues."""
