"""Every metric by name, with its meaning, unit, source and direction."""
