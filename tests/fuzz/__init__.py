"""Mutated models, metadata, ORT files, HTTP requests and URIs; `make fuzz` runs as many as one likes."""
