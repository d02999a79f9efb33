"""The workstation's commands: one module per sub-command."""
