"""Files for other programs: frame in, picture out, and only operators that an accelerator supports."""
