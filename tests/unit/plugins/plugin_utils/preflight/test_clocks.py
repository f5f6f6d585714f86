# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clocks that disagree: which of them matter, and the numbers."""

from __future__ import annotations

import datetime

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.preflight import clocks

NOW = datetime.datetime(2026, 5, 1, 12, tzinfo=datetime.timezone.utc)


@pytest.mark.parametrize(
    ("skew", "hub", "signed", "fault", "warning"),
    [
        (0.4, -0.4, True, None, None),
        (5.0, 0.0, True, None, None),
        (7.0, 0.0, True, None, "its clock is 7 s ahead of the hub's; Flower refuses"),
        (7.0, 0.0, False, None, None),
        (20.0, -12.0, True, "its clock is 32 s ahead of the hub's; Flower refuses", None),
        (20.0, -12.0, False, None, "its clock is 32 s ahead of the hub's"),
        (-25.0, 0.0, True, None, None),
        (-31.0, 0.0, True, None, "its clock is 31 s behind the hub's"),
        (-301.0, 0.0, True, "its clock is 301 s behind the hub's; Flower refuses", None),
        (-301.0, -300.0, True, None, None),
        # The hub was not looked at: what it shows is not known.
        (100.0, None, True, None, "its clock is 100 s ahead of the control node's"),
        (None, 0.0, True, None, None),
    ],
)
def test_between(skew, hub, signed, fault, warning):
    for got, wanted in zip(clocks.between(skew, hub, signed=signed), (fault, warning)):
        assert (got is None) == (wanted is None), got
        assert wanted is None or got.startswith(wanted)


def test_apart():
    assert clocks.apart(None) is clocks.apart(29.0) is None
    assert clocks.apart(-31.0) == "its clock is 31 s behind the control node's"


def test_validity():
    certificate = {"not_before": "2026-05-01T11:55:00+00:00", "not_after": "2026-05-01T12:10:00+00:00"}
    assert clocks.validity({}, -999.0, NOW) is None
    assert clocks.validity(certificate, None, NOW) is None
    assert clocks.validity(certificate, -299.0, NOW) is None
    assert clocks.validity(certificate, -301.0, NOW) is None  # clocks are known to the second: it may just have been issued
    fault = clocks.validity(certificate, -303.0, NOW)
    assert "not valid before 2026-05-01T11:55:00+00:00, and it is 2026-05-01T11:54:57+00:00 by its clock" in fault
    assert "303 s behind the control node's" in fault
    assert "expires on 2026-05-01T12:10:00+00:00" in clocks.validity(certificate, 601.0, NOW)
