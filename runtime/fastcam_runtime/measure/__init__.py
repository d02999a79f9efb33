"""Measure what a file costs on this device."""
