"""Detectors: from the rows of a one-stage head to boxes on the frame."""
