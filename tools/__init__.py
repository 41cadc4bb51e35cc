"""What the repository makes of its own sources: `make generate` writes it, `make check` compares it."""
