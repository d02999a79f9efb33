"""Write models so that a file is whole or untouched."""
