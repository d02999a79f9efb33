"""The promises, and the measured figures as Markdown."""
