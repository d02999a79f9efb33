"""What is measured: networks, their files, and pictures."""
