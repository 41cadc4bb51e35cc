"""`netwarp verify`: measured values beside those of theory, standards and other programs."""
