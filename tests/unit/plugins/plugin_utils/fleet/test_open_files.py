# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many connections a process may keep open: within its limits, of which the soft one is raised."""

from __future__ import annotations

import resource

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.fleet import open_files

UNLIMITED = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("soft", "hard", "connections", "enough", "raised"),
    [
        (1024, 4096, 800, True, None),
        (1024, 4096, 1000, True, 1200),
        (1024, UNLIMITED, 3000, True, 3200),
        (1024, 1100, 1000, False, None),
        (1024, UNLIMITED, 20000, False, None),
        (UNLIMITED, UNLIMITED, 20000, True, None),
    ],
)
def test_the_soft_limit_is_raised_as_far_as_the_hard_one(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, connections: int, enough: bool, raised: int | None
) -> None:
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _which, limits: given.append(limits))
    assert open_files.enough_for(connections) is enough
    assert given == ([] if raised is None else [(raised, hard)])
