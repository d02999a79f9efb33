"""The live loop: read frames, explain them, show them, and let a user control it meanwhile."""
