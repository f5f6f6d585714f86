# SPDX-License-Identifier: Apache-2.0
"""The model and how it is trained, without a word of Flower."""

from __future__ import annotations

import numpy as np

from .table import Rows

FEATURES = 30
CLASSES = np.array([0, 1])
VALIDATION = 5  # every fifth row of a SuperNode measures the model and is not trained on

# Typical values and spreads of the measurements, published with the data. All sites scale by the same numbers, and none tells its own.
# fmt: off
TYPICAL = np.array([
    14, 19, 92, 650, 0.096, 0.1, 0.089, 0.049, 0.18, 0.063, 0.41, 1.2, 2.9, 40, 0.007, 0.025, 0.032, 0.012, 0.021, 0.0038,
    16, 26, 110, 880, 0.13, 0.25, 0.27, 0.11, 0.29, 0.084,
])
SPREAD = np.array([
    3.5, 4.3, 24, 350, 0.014, 0.053, 0.08, 0.039, 0.027, 0.0071, 0.28, 0.55, 2, 45, 0.003, 0.018, 0.03, 0.0062, 0.0083, 0.0026,
    4.8, 6.1, 34, 570, 0.023, 0.16, 0.21, 0.066, 0.062, 0.018,
])
# fmt: on

Model = list[np.ndarray]  # coefficients (1, FEATURES), intercept (1,)


def new_model() -> Model:
    """A model that knows nothing."""
    return [np.zeros((1, FEATURES)), np.zeros(1)]


def parts(rows: Rows) -> tuple[Rows, Rows]:
    """Rows to train on, and rows to measure with."""
    measured = np.arange(len(rows.labels)) % VALIDATION == VALIDATION - 1
    return Rows(rows.features[~measured], rows.labels[~measured]), Rows(rows.features[measured], rows.labels[measured])


def scaled(features: np.ndarray) -> np.ndarray:
    """Measurements as the model wants them."""
    return (features - TYPICAL) / SPREAD


def train(model: Model, rows: Rows, epochs: int, rate: float, seed: int) -> Model:
    """Go on training a model: logistic regression by stochastic gradient descent."""
    from sklearn.linear_model import SGDClassifier

    learner = SGDClassifier(loss="log_loss", alpha=1e-3, learning_rate="constant", eta0=rate, random_state=seed)
    learner.classes_ = CLASSES
    learner.coef_, learner.intercept_ = (array.copy() for array in model)
    features = scaled(rows.features)
    for _epoch in range(epochs):
        learner.partial_fit(features, rows.labels, classes=CLASSES)
    return [learner.coef_, learner.intercept_]


def measure(model: Model, rows: Rows) -> dict[str, float]:
    """Share of the rows that the model gets right (accuracy), and its mean logistic loss."""
    scores = scaled(rows.features) @ model[0][0] + model[1][0]
    signs = np.where(rows.labels == 1, 1.0, -1.0)
    return {
        "accuracy": float(((scores > 0) == (rows.labels == 1)).mean()),
        "loss": float(np.logaddexp(0.0, -signs * scores).mean()),
    }
