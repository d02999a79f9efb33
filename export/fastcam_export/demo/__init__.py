"""`fastcam demo`: the shipped model on the shipped clip, nothing to download."""
