"""The live page: an HTTP server that shows the newest picture."""
