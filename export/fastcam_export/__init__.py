"""A convolutional network in, the same network with saliency outputs out."""
