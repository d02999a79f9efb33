"""How time and memory are measured."""
