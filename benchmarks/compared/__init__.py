"""Other packages and programs that ours is compared with."""
