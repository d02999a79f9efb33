"""The measurements behind every figure in the README. `make bench` runs all of them; see README.md here."""
