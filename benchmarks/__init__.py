"""What backs every figure in the README. `make bench` runs all of it; see README.md here."""
