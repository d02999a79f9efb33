"""The command `fastcam`: one module per sub-command."""
