"""The report of an evaluation: a table, a page, and conclusions in words."""
