"""Analysis of a network's graph: its ends, shapes and geometry, its operators, and the taps."""
