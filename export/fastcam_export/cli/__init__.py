"""The commands that need the exporter, one module per sub-command."""
