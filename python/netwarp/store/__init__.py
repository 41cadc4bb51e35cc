"""The layout of results on disk, their schemas, readers and writers, shared by engines and analysis."""
