"""What an evaluation says: a table, a page, and conclusions in words."""
