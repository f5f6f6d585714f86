# SPDX-License-Identifier: Apache-2.0
"""The images: 1,797 handwritten digits of 8 x 8 pixels, which are part of scikit-learn (a test set of Optical Recognition of Handwritten Digits, UCI)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from sklearn.datasets import load_digits

MEASURED = 5  # every fifth image is measured with, and no SuperNode trains on it


@dataclass(frozen=True)
class Images:
    """Pixels from 0 to 1, shape (n, 1, 8, 8), and the digit on each image, shape (n,)."""

    pixels: torch.Tensor
    labels: torch.Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def to(self, device: torch.device) -> Images:
        """The same images in the memory of a device."""
        return Images(self.pixels.to(device), self.labels.to(device))


def _chosen(numbers: np.ndarray) -> Images:
    digits = load_digits()
    pixels = torch.tensor(digits.images[numbers] / 16, dtype=torch.float32)
    return Images(pixels.unsqueeze(1), torch.tensor(digits.target[numbers], dtype=torch.long))


def held_out() -> Images:
    """The images that no SuperNode has: the ServerApp measures the model on them."""
    return _chosen(np.arange(0, len(load_digits().target), MEASURED))


def part(number: int, parts: int, skew: float, seed: int) -> Images:
    """The images of one SuperNode. Each image belongs to one SuperNode, or is held out.

    Args:
        number: number of the SuperNode, from 0.
        parts: number of SuperNodes.
        skew: share of the images that are sorted by digit before they are dealt, from 0 to 1.
        seed: the same for all SuperNodes, because each of them computes the whole split.

    Raises:
        ValueError: there is no such part.
    """
    if not 0 <= number < parts:
        raise ValueError(f"partition-id is {number}, and num-partitions is {parts}: it has to be from 0 to {parts - 1}")
    labels = load_digits().target
    numbers = np.arange(len(labels))
    order = np.random.default_rng(seed).permutation(numbers[numbers % MEASURED != 0])
    by_digit, at_random = np.split(order, [round(len(order) * skew)])
    by_digit = by_digit[np.argsort(labels[by_digit], kind="stable")]
    return _chosen(np.concatenate([np.array_split(some, parts)[number] for some in (by_digit, at_random)]))
