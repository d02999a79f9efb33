"""The metadata of a grafted file: labels, preprocessing, taps."""
