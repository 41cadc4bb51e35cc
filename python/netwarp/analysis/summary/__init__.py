"""Results over many runs: statistics over seeds, expectations, selections."""
