"""Long runs: memory, open files, and streams that are cut."""
