"""Mutated models, metadata, ORT files, HTTP requests and URIs; `make fuzz` runs any number of them."""
