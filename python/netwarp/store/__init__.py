"""The foundation both wings stand on: the layout of results on disk, their schemas, readers and writers."""
