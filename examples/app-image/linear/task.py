# SPDX-License-Identifier: Apache-2.0
"""Data and model."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import SGDClassifier

FEATURES = 12
CLASSES = np.array([0, 1])

Model = list[np.ndarray]  # coefficients (1, FEATURES), intercept (1,)


def make_data(seed: int, partition: int, examples: int) -> tuple[np.ndarray, np.ndarray]:
    """Examples of one partition: their own rows of one synthetic table."""
    total = examples * (partition + 1)
    features, labels = make_classification(
        n_samples=max(total, 2 * examples), n_features=FEATURES, n_informative=6, shuffle=False, random_state=seed
    )
    order = np.random.default_rng(seed + partition).permutation(len(labels))[:examples]
    return features[order], labels[order]


def new_model() -> Model:
    """A model without any knowledge."""
    return [np.zeros((1, FEATURES)), np.zeros(1)]


def classifier(model: Model) -> SGDClassifier:
    """The classifier with these weights."""
    made = SGDClassifier(loss="log_loss", random_state=0)
    made.classes_ = CLASSES
    made.coef_, made.intercept_ = (array.copy() for array in model)
    return made


def train(model: Model, features: np.ndarray, labels: np.ndarray) -> Model:
    """One pass over the examples."""
    made = classifier(model).partial_fit(features, labels, classes=CLASSES)
    return [made.coef_, made.intercept_]


def evaluate(model: Model, features: np.ndarray, labels: np.ndarray) -> float:
    """Share of the examples that the model gets right."""
    return float(classifier(model).score(features, labels))
