"""The options of `fastcam run`, one module per group."""
