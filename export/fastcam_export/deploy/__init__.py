"""Files for other programs: frame in and picture out, and only the operators that an accelerator has."""
