"""What a grafted file says about itself: labels, preprocessing, taps."""
