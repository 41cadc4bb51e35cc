"""Files that the repository generates from its sources: `make generate` writes them, `make check` compares them."""
