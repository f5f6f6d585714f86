# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a maintenance window of a site is open."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.maintenance import in_maintenance

BERLIN = {"timezone": "Europe/Berlin"}
NIGHT = {"from": "Sat 22:00", "to": "sun 06:00", **BERLIN}
XMAS = {"from": "2026-12-24 18:00", "to": "2026-12-27T06:00:00"}


def until(now: str, *windows: Any) -> str:
    return in_maintenance({"a": {"flower_maintenance": list(windows)}}, ["a", "b"], datetime.datetime.fromisoformat(now)).get("a", "")


@pytest.mark.parametrize(
    ("now", "windows", "wanted"),
    [
        ("2026-11-28T20:59+00:00", [NIGHT], ""),
        ("2026-11-28T21:00+00:00", [NIGHT], "2026-11-29 06:00 CET"),
        ("2026-11-29T04:59+00:00", [NIGHT], "2026-11-29 06:00 CET"),
        ("2026-11-29T05:00+00:00", [NIGHT], ""),
        ("2027-03-27T21:00+00:00", [NIGHT], "2027-03-28 06:00 CEST"),  # summer time begins in it: an hour less
        ("2027-03-28T03:59+00:00", [NIGHT], "2027-03-28 06:00 CEST"),
        ("2027-03-28T04:00+00:00", [NIGHT], ""),
        ("2026-10-25T04:59+00:00", [NIGHT], "2026-10-25 06:00 CET"),  # it ends in it: an hour more
        ("2026-12-25T00:00+00:00", [XMAS], "2026-12-27 06:00 UTC"),
        ("2026-12-27T06:00+00:00", [XMAS], ""),
        ("2026-12-27T00:00+00:00", [NIGHT, XMAS], "2026-12-27 06:00 UTC"),  # the longer one
        ("2026-12-25T00:00+00:00", [], ""),
    ],
)
def test_open_windows(now: str, windows: list[Any], wanted: str) -> None:
    assert until(now, *windows) == wanted


@pytest.mark.parametrize(
    ("window", "fault"),
    [
        ("Sun", "a: flower_maintenance[0]: 'Sun' is not a window"),
        ({"from": "Sun 02:00"}, "a: flower_maintenance[0]: {'from': 'Sun 02:00'} is not a window"),
        ({**NIGHT, "until": 1}, "is not a window {from, to, timezone}"),
        ({**NIGHT, "from": "Sunday 02:00"}, "a: flower_maintenance[0].from: 'Sunday 02:00' is not a time"),
        ({**NIGHT, "to": "Sun 24:00"}, "a: flower_maintenance[0].to: 'Sun 24:00' is not a time"),
        ({**XMAS, "from": "2026-12-24"}, "flower_maintenance[0].from: '2026-12-24' is not a time"),
        ({**XMAS, "from": "2026-12-24 18:00+01:00"}, "flower_maintenance[0].from: "),
        ({**XMAS, "to": "2026-12-24 18:00"}, "a: flower_maintenance[0].to: '2026-12-24 18:00' is not after '2026-12-24 18:00'"),
        ({"from": "Sun 02:00", "to": "Sun 02:00"}, "is not after"),
        ({"from": "Sun 02:00", "to": "2026-12-24 18:00"}, "is not after"),
        ({**NIGHT, "timezone": "CET+1"}, "a: flower_maintenance[0].timezone: 'CET+1' is not a time zone"),
    ],
)
def test_bad_windows_are_refused_with_their_place(window: Any, fault: str) -> None:
    with pytest.raises(ValueError) as refused:
        until("2026-11-28T20:00+00:00", window)
    assert fault in str(refused.value)


def test_windows_are_a_list() -> None:
    with pytest.raises(ValueError, match="a: flower_maintenance: .* is not a list of windows"):
        in_maintenance({"a": {"flower_maintenance": NIGHT}}, ["a"])
