"""Maps and results become pictures."""
