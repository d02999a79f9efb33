"""What stands beside the study: on its networks and pictures, but in runs of their own."""
