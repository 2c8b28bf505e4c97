"""Embedders, language models, document converters, the web: one file for each foreign thing."""
