# SPDX-License-Identifier: Apache-2.0
"""The tables: how they are split, written and read.

The data is scikit-learn's breast cancer table (Wisconsin Diagnostic): 569 tumours, 30 measurements of each, malignant or benign.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATASET = "biopsies"  # name of the dataset in the inventory (supernode_datasets), and of the file in it
FILE = f"{DATASET}.csv"
LABEL = "malignant"
HELD_OUT = 0.2  # share of the rows that no site gets
SPLIT_SEED = 2026  # the split is part of the data: it is the same for all runs


@dataclass(frozen=True)
class Rows:
    """Rows of a table: measurements of shape (n, 30), labels of shape (n,), 1 for malignant."""

    features: Any
    labels: Any


def split(labels: Sequence[int], sites: int) -> tuple[list[list[int]], list[int]]:
    """Deal the rows out to the sites, so that the sites differ: the first one has few malignant tumours, the last one many.

    Args:
        labels: label of each row.
        sites: number of sites.

    Returns:
        The rows of each site, and those that are held out, with as large a share of each label as in the whole table.
    """
    dealer = random.Random(SPLIT_SEED)
    parts: list[list[int]] = [[] for _site in range(sites)]
    held_out: list[int] = []
    for label in sorted(set(labels)):
        rows = [row for row, one in enumerate(labels) if one == label]
        dealer.shuffle(rows)
        kept = round(len(rows) * HELD_OUT)
        held_out += rows[:kept]
        weights = [site + 1 if label else sites - site for site in range(sites)]
        cards = [site for site, weight in enumerate(weights) for _card in range(weight)]
        for number, row in enumerate(rows[kept:]):
            parts[cards[number % len(cards)]].append(row)
    return [sorted(part) for part in parts], sorted(held_out)


def whole() -> tuple[Rows, list[str]]:
    """The whole table, and the names of its columns."""
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    return Rows(bunch.data, 1 - bunch.target), [str(name).replace(" ", "_") for name in bunch.feature_names]


def held_out() -> Rows:
    """The rows that no site has: the ServerApp measures the model on them, and so does score.py."""
    table, _names = whole()
    rows = split(table.labels.tolist(), 1)[1]
    return Rows(table.features[rows], table.labels[rows])


def write(path: Path, names: Sequence[str], rows: Rows) -> None:
    """Write rows as a CSV file. Numbers keep all their digits."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*names, LABEL])
        for features, label in zip(rows.features.tolist(), rows.labels.tolist()):
            writer.writerow([*features, label])


def read(path: Path, part: int = 0, parts: int = 1) -> Rows:
    """Read a CSV file, or the share of it of one of several SuperNodes that have the same file.

    Args:
        path: the file.
        part: number of the share, from 0.
        parts: number of shares.
    """
    import numpy as np

    with path.open(encoding="utf-8", newline="") as file:
        names, *lines = csv.reader(file)
    if names[-1] != LABEL or not lines:
        raise ValueError(f"{path} has no rows, or its last column is not {LABEL!r}")
    table = np.array(lines[part::parts], dtype=float)
    return Rows(table[:, :-1], table[:, -1].astype(int))
