"""Every formula of the method in float64 NumPy, as plainly as it can be written.

Activations are [N,C,H,W], maps [N,H,W].
"""

from __future__ import annotations

import colorsys
from collections.abc import Sequence

import numpy as np
from scipy.special import erf

Array = np.ndarray


def smoe(x: Array, epsilon: float = 1e-6) -> Array:
    y = np.maximum(x.astype(np.float64), 0) + epsilon
    m = y.mean(axis=1)
    # y/m first: log2 m − mean log2 y would cancel for nearly equal channels
    return m * np.maximum(-np.log2(y / m[:, None]).mean(axis=1), 0)


def stretch(s: Array) -> Array:
    """(s − min)/(max − min) per image; a constant map becomes 0."""
    s = s.astype(np.float64)
    low = s.min(axis=(1, 2), keepdims=True)
    high = s.max(axis=(1, 2), keepdims=True)
    return (s - low) / np.maximum(high - low, 1e-30)


def gauss(s: Array) -> Array:
    """Normal distribution function, unbiased standard deviation; a constant map becomes 0.5."""
    r = stretch(s)
    n = r[0].size
    z = r - r.mean(axis=(1, 2), keepdims=True)
    deviation = np.sqrt((z**2).sum(axis=(1, 2), keepdims=True) / max(n - 1, 1))
    return 0.5 * (1 + erf(z / np.where(deviation == 0, 1, deviation * np.sqrt(2))))


def gamma_shape(x: Array) -> Array:
    """The closed form for k of a gamma distribution, from positive values [N,H,W]; [N,1,1]."""
    spread = np.log(x.mean(axis=(1, 2), keepdims=True)) - np.log(x).mean(axis=(1, 2), keepdims=True)
    spread = np.maximum(spread, 1e-3)
    return (3 - spread + np.sqrt((spread - 3) ** 2 + 24 * spread)) / (12 * spread)


def gamma(s: Array) -> Array:
    """Gamma distribution function in Wilson and Hilferty's cube-root normal form."""
    s = s.astype(np.float64)
    x = s - s.min(axis=(1, 2), keepdims=True) + 2e-7
    k = gamma_shape(x)
    root = np.cbrt(x / x.mean(axis=(1, 2), keepdims=True))
    return 0.5 * (1 + erf((root - (1 - 1 / (9 * k))) * 3 * np.sqrt(k) / np.sqrt(2)))


def bilinear(m: Array, height: int, width: int) -> Array:
    """Bilinear interpolation, pixel by pixel: half-pixel centres, edges replicated, no antialiasing."""
    m = m.astype(np.float64)
    for axis, size in ((1, height), (2, width)):
        length = m.shape[axis]
        p = np.clip((np.arange(size) + 0.5) * length / size - 0.5, 0, length - 1)
        low = np.floor(p).astype(int)
        high = np.minimum(low + 1, length - 1)
        fraction = np.expand_dims(p - low, 1) if axis == 1 else p - low
        m = m.take(low, axis) * (1 - fraction) + m.take(high, axis) * fraction
    return m


def combine(maps: Sequence[Array], weights: Sequence[float], height: int, width: int) -> Array:
    total = sum(w * bilinear(m, height, width) for w, m in zip(weights, maps, strict=True))
    return np.asarray(total / sum(weights))


def lovi_hsv(maps: Array) -> Array:
    """Hue in degrees, saturation and value from K upsampled maps [N,K,H,W]; [N,H,W,3]."""
    s = maps.astype(np.float64)
    count = s.shape[1]
    total, strongest = s.sum(axis=1), s.max(axis=1)
    lit = total > 0
    if count == 1:
        return np.stack([np.zeros_like(total), np.zeros_like(total), strongest], axis=-1)
    phi = 1 - np.arange(count) / (count - 1)
    centre = np.divide(np.einsum("nkhw,k->nhw", s, phi), total, out=np.zeros_like(total), where=lit)
    agreement = np.divide(total, count * strongest, out=np.zeros_like(total), where=lit)
    saturation = 1 - (agreement - 1 / count) / (1 - 1 / count)
    return np.stack([300 * centre, saturation, strongest], axis=-1)


def lovi(maps: Sequence[Array], height: int, width: int) -> Array:
    """The LOVI picture in RGB 0…255, not rounded; [N,H,W,3]."""
    hsv = lovi_hsv(np.stack([bilinear(m, height, width) for m in maps], axis=1))
    rgb = [colorsys.hsv_to_rgb(h / 360, s, v) for h, s, v in hsv.reshape(-1, 3)]
    return 255 * np.array(rgb).reshape(hsv.shape)
