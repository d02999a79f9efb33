"""Helpers that several tests share: networks, oracles, servers, processes."""
