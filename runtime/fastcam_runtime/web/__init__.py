"""The page for phones: a static site around a grafted file, its server, and its measurement in a browser."""
