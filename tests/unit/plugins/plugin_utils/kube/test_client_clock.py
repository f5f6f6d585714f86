# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clock of an API server, from the dates of its answers."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster


@pytest.fixture
def cluster():
    """A connection that was never opened."""
    made = object.__new__(Cluster)
    made._clock = None
    return made


def test_unknown(cluster):
    assert cluster.skew is None
    for date in (None, "", "yesterday"):
        cluster._note_clock(time.time(), date)
        assert cluster.skew is None


@pytest.mark.parametrize("ahead", [0, 40, -400])
def test_skew(cluster, ahead):
    now = time.time()
    cluster._note_clock(now, formatdate(now + ahead, usegmt=True))
    assert abs(cluster.skew - ahead) < 1.1


def test_the_quickest_answer_counts(cluster):
    now = time.time()
    cluster._note_clock(now, formatdate(now, usegmt=True))
    cluster._note_clock(now - 20, formatdate(now - 20, usegmt=True))  # an answer that took 20 s
    assert abs(cluster.skew) < 1.1
