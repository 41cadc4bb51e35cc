"""Models of the consumption of ports, switches, hosts and radios, as data with sources; no energy is computed here."""
