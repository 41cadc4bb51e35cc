"""Models of what ports, switches, hosts and radios consume, as data with sources; nothing here computes energy."""
