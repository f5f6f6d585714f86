# SPDX-License-Identifier: Apache-2.0
"""The data and the model, without a word of Flower."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

CLASSES = 6
CLUSTERS = 4  # each class is several clouds of points, so that no straight line parts it from the others
FEATURES = 10
HIDDEN = 48
SPREAD = 1.2  # of a cloud around its centre; the clouds overlap, so that no model gets everything right
MINORITY = 0.1  # weight of a class that belongs to another partition; 1 for one's own
BATCH = 32

Model = list[np.ndarray]  # weights (FEATURES, HIDDEN), biases (HIDDEN,), weights (HIDDEN, CLASSES), biases (CLASSES,)


@dataclass(frozen=True)
class Data:
    """Examples: features of shape (n, FEATURES), labels of shape (n,)."""

    features: np.ndarray
    labels: np.ndarray


def make_data(seed: int, partition: int, partitions: int, examples: int, test: bool = False) -> Data:
    """Make the data of one partition.

    The classes are the same everywhere. Training data is skewed: the classes whose number is the partition's, modulo
    the number of partitions, are in the majority. Test data has all classes in equal parts.
    """
    centres = np.random.default_rng(seed).normal(scale=2.0, size=(CLASSES, CLUSTERS, FEATURES))
    rng = np.random.default_rng([seed, partition, int(test)])
    shares = min(partitions, CLASSES)
    own = np.arange(CLASSES) % shares == partition % shares
    weights = np.where(own | test, 1.0, MINORITY)
    labels = rng.choice(CLASSES, size=examples, p=weights / weights.sum())
    clusters = rng.integers(CLUSTERS, size=examples)
    return Data(centres[labels, clusters] + rng.normal(scale=SPREAD, size=(examples, FEATURES)), labels)


def new_model(seed: int) -> Model:
    """A model that knows nothing."""
    rng = np.random.default_rng(seed)
    return [
        rng.normal(scale=FEATURES**-0.5, size=(FEATURES, HIDDEN)),
        np.zeros(HIDDEN),
        rng.normal(scale=HIDDEN**-0.5, size=(HIDDEN, CLASSES)),
        np.zeros(CLASSES),
    ]


def forward(model: Model, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Hidden layer, shape (n, HIDDEN), and probability of each class, shape (n, CLASSES)."""
    hidden = np.maximum(features @ model[0] + model[1], 0.0)
    scores = hidden @ model[2] + model[3]
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return hidden, scores / scores.sum(axis=1, keepdims=True)


def train(model: Model, data: Data, epochs: int, rate: float, seed: int) -> tuple[Model, float]:
    """Train by stochastic gradient descent; return the new model and the mean loss of the last epoch."""
    model = [array.copy() for array in model]
    rng = np.random.default_rng(seed)
    loss = 0.0
    for _epoch in range(epochs):
        losses = []
        order = rng.permutation(len(data.labels))
        for batch in (order[start : start + BATCH] for start in range(0, len(order), BATCH)):
            features, rows = data.features[batch], np.arange(len(batch))
            hidden, error = forward(model, features)
            losses.append(-np.log(error[rows, data.labels[batch]] + 1e-12).mean())
            error[rows, data.labels[batch]] -= 1.0
            error *= rate / len(batch)
            below = (error @ model[2].T) * (hidden > 0)
            for array, step in zip(model, (features.T @ below, below.sum(0), hidden.T @ error, error.sum(0))):
                array -= step
        loss = float(np.mean(losses))
    return model, loss


def evaluate(model: Model, data: Data) -> float:
    """Share of the examples that the model gets right."""
    return float((forward(model, data.features)[1].argmax(axis=1) == data.labels).mean())
