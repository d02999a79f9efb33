"""Training and testing of a network, always the same way: see `protocol`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from . import protocol

Batch = Callable[[NDArray[np.int64]], torch.Tensor]
"""The network's inputs for photos given by their numbers."""


def train(
    network: nn.Module, inputs: Batch, labels: NDArray[np.int64], *, epochs: int, peak: float, seed: int
) -> None:
    """Train in place, and leave the network in evaluation mode."""
    random = np.random.default_rng(seed)
    steps = epochs * -(-len(labels) // protocol.BATCH)
    optimizer = torch.optim.SGD(
        network.parameters(), peak, momentum=protocol.MOMENTUM, weight_decay=protocol.DECAY, nesterov=True
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, peak, total_steps=steps)
    network.train().to(memory_format=torch.channels_last)
    targets = torch.from_numpy(labels)
    for _ in range(epochs):
        order = random.permutation(len(labels))
        for chosen in np.split(order, range(protocol.BATCH, len(order), protocol.BATCH)):
            batch = inputs(chosen)
            flipped = torch.from_numpy(random.random(len(chosen)) < 0.5)
            batch = torch.where(flipped[:, None, None, None], batch.flip(3), batch)
            loss = functional.cross_entropy(
                network(batch.contiguous(memory_format=torch.channels_last)), targets[chosen]
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    network.eval()


def accuracy(network: nn.Module, inputs: Batch, labels: NDArray[np.int64]) -> float:
    """The share of photos that the network classifies correctly."""
    right = 0
    with torch.no_grad():
        for chosen in np.array_split(np.arange(len(labels)), max(1, len(labels) // 256)):
            scores = network(inputs(chosen).contiguous(memory_format=torch.channels_last))
            right += int((scores.argmax(1).numpy() == labels[chosen]).sum())
    return right / len(labels)
