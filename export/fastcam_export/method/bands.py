"""The rows of a bilinear interpolation, as products of small dense matrices.

The matrix that interpolates the rows of K stacked maps has two nonzero values per map in each row, near a
diagonal. Splitting it into bands of output rows skips most of the zeros: for 224 rows from maps of 112, 56,
28, 14 and 7 rows, each of 8 bands reads 38 stacked rows instead of 217.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from ..authoring.ops import Ops
from .bilinear import dense_matrix

HEIGHT = 28
"""Approximate number of output rows per band: fewer make the products too small, more add zeros to them."""


@dataclass(frozen=True)
class Bands:
    """Output rows in bands of equal height; the last band is padded."""

    height: int
    """Output rows of a band."""
    sources: np.ndarray
    """int64 [bands,L]: the stacked rows that each band reads."""
    rows: np.ndarray
    """float32 [1,L,H]: the weights of the L rows of its band in each output row."""

    @classmethod
    def of(cls, lengths: Sequence[int], size: int) -> Bands:
        """Bands for `size` output rows of stacked maps with `lengths` rows each."""
        height = _band_height(size)
        starts = np.arange(0, size, height)
        sources, shares, offset = [], [], 0
        for length in lengths:
            read, share = _windows(dense_matrix(length, size), starts)
            sources.append(read + offset)
            shares.append(share)
            offset += length
        return cls(height, np.concatenate(sources, axis=1), np.concatenate(shares)[None].astype(np.float32))

    def product(self, op: Ops, rows: ir.Value, stacked: ir.Value) -> ir.Value:
        """Interpolate `stacked`, [N,Σh,W], to [N,H,W]; `rows` is the constant of this name."""
        count, read = self.sources.shape
        size = self.rows.shape[2]
        filled = count * self.height
        if filled > size:
            rows = op.Pad(rows, [0, 0, 0, 0, 0, filled - size])
        matrices = op.Transpose(op.Reshape(rows, [read, count, self.height]), perm=[1, 2, 0])
        bands = op.MatMul(matrices, op.Gather(stacked, self.sources, axis=1))
        image = op.Reshape(bands, [0, filled, -1])
        return op.Slice(image, [0], [size], [1]) if filled > size else image


def _band_height(size: int) -> int:
    """A height near `HEIGHT`, a divisor of `size` if possible."""
    near = range(HEIGHT * 2 // 3, HEIGHT * 3 // 2)
    height = min(near, key=lambda h: (size % h != 0, abs(h - HEIGHT)))
    return min(height, size)


def _windows(matrix: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows of one map that each band reads, [bands,l], and their weights in the output rows, [l,H]."""
    bands = np.split(matrix, starts[1:], axis=1)
    first = np.array([np.flatnonzero(band.any(axis=1))[0] for band in bands])
    last = np.array([np.flatnonzero(band.any(axis=1))[-1] for band in bands])
    width = int((last - first).max()) + 1
    read = np.minimum(first, len(matrix) - width)[:, None] + np.arange(width)
    shares = [band[rows] for band, rows in zip(bands, read, strict=True)]
    return read, np.concatenate(shares, axis=1)
