"""What the maps cost on an emulated 64-bit ARM board, in instructions."""
