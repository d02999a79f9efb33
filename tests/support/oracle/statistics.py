"""The other statistics of the paper in float64: activations [N,C,H,W] → maps [N,H,W]."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, erfcx, log_ndtr, polygamma

from .method import Array

LEAST_VARIANCE = 1e-10
LEAST_STD = 1e-6


def positive(x: Array, epsilon: float = 1e-6) -> Array:
    return np.maximum(x.astype(np.float64), 0) + epsilon


def std(x: Array) -> Array:
    return np.maximum(x.astype(np.float64), 0).std(axis=1)


def mean(x: Array) -> Array:
    return np.maximum(x.astype(np.float64), 0).mean(axis=1)


def maximum(x: Array) -> Array:
    return np.maximum(x.astype(np.float64), 0).max(axis=1)


def shannon(x: Array, epsilon: float = 1e-6) -> Array:
    p = positive(x, epsilon) / positive(x, epsilon).sum(axis=1, keepdims=True)
    return -(p * np.log2(p)).sum(axis=1)


def lognormal_log_mean(x: Array, epsilon: float = 1e-6, ddof: int = 0) -> Array:
    """μ + v/2: the logarithm of the mean, which itself may be beyond float64."""
    log = np.log(positive(x, epsilon))
    return log.mean(axis=1) + log.var(axis=1, ddof=ddof) / 2


def lognormal_entropy(x: Array, epsilon: float = 1e-6, ddof: int = 0) -> Array:
    log = np.log(positive(x, epsilon))
    variance = np.maximum(log.var(axis=1, ddof=ddof), LEAST_VARIANCE)
    return log.mean(axis=1) + np.log(2 * np.pi * np.e * variance) / 2


def truncnormal(x: Array, ddof: int = 0) -> tuple[Array, Array, Array]:
    """Mean, standard deviation and entropy. λ from the scaled complementary error function; far below 0,
    where λ − a would cancel even in float64, from its asymptotic series."""
    x = x.astype(np.float64)
    m, s = x.mean(axis=1), np.maximum(x.std(axis=1, ddof=ddof), LEAST_STD)
    a = -m / s
    far = np.maximum(a, 1e3)
    ratio = np.where(a < 1e3, np.sqrt(2 / np.pi) / erfcx(np.minimum(a, 1e3) / np.sqrt(2)), far)
    mean = np.where(a < 1e3, m + s * ratio, s * (1 / far - 2 / far**3))
    variance = np.where(a < 1e3, s**2 * (1 + a * ratio - ratio**2), s**2 / far**2)
    log_share = np.where(a < 1e3, log_ndtr(-np.minimum(a, 1e3)), 0)
    near = np.log(2 * np.pi * np.e) / 2 + np.log(s) + log_share + a * ratio / 2
    entropy = np.where(a < 1e3, near, 1 + np.log(s / far))
    return mean, np.sqrt(np.maximum(variance, 0)), entropy


def gamma_scale(x: Array, epsilon: float = 1e-7) -> Array:
    """The scale of the gamma distribution fitted by maximum likelihood, which SMOE Scale approximates."""
    y = positive(x, epsilon)
    mean = y.mean(axis=1)
    spread = np.log(mean) - np.log(y).mean(axis=1)
    k = (3 - spread + np.sqrt((spread - 3) ** 2 + 24 * spread)) / (12 * spread)
    for _ in range(10):
        k -= (np.log(k) - digamma(k) - spread) / (1 / k - polygamma(1, k))
    return mean / k
