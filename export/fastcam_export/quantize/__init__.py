"""From a float32 network to an int8 one, and how far the two agree on pictures."""

from .quantizing import Quantized, quantize

__all__ = ["Quantized", "quantize"]
