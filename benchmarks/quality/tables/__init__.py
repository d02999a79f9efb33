"""The results of the quality measurements as text of docs/quality.md."""
