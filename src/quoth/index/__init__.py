"""The index of a book: in files of the data directory, or on a Qdrant server. Both keep `ports.Index`."""
