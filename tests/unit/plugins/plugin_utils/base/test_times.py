# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times as people write them in variables, and as Kubernetes and Flower do."""

from __future__ import annotations

import datetime

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base import times

NOW = datetime.datetime(2026, 11, 22, 14, tzinfo=datetime.timezone.utc)


@pytest.mark.parametrize(
    "text, wanted",
    [("90m", "2026-11-22T12:30"), ("2d", "2026-11-20T14:00"), (" 1w ", "2026-11-15T14:00"), ("0s", "2026-11-22T14:00")],
)
def test_before(text: str, wanted: str) -> None:
    assert times.before(NOW, text).isoformat(timespec="minutes") == f"{wanted}+00:00"


@pytest.mark.parametrize("text", ["", "2", "2026", "d", "2x", "1d2h", "999999w", "-1d"])
def test_what_is_no_duration_before_now(text: str) -> None:
    with pytest.raises(ValueError, match=f"'{text}' is not a duration like 12h, 30d or 8w"):
        times.before(NOW, text)


@pytest.mark.parametrize(
    "value, wanted",
    [
        ("2026-11-22T14:00:00Z", NOW),
        ("2026-11-22T15:00:00+01:00", NOW),
        ("2026-11-22 14:00:00", NOW),
        ("2026-11-22", NOW.replace(hour=0)),
        *((value, None) for value in ("", None, "soon", "12h", 7)),
    ],
)
def test_moment(value: object, wanted: datetime.datetime | None) -> None:
    assert times.moment(value) == wanted
