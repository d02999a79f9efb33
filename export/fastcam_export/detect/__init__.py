"""Detectors: recognise a one-stage head, describe it, and add its class maps."""
