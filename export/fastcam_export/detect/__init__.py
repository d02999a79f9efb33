"""Detectors: recognise a one-stage head, describe it, and grow its class maps."""
