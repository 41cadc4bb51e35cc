"""Energy of ports and nodes, computed from exact times of packets after the run, by the models of `energy/`."""
