"""The layout of results on disk, their schemas, readers and writers: what engines and analysis share."""
