"""The loop: frames are read, explained and shown, while a person may change what is shown."""
