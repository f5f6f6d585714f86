# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Denials for the time of a run or a drill: they end with it, unless a person has denied the site."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.state import access_records, records

NOW, LATER = "2026-11-21T10:00:00+00:00", "2026-11-21T11:00:00+00:00"
RUN, OTHER = "run 1f0a", "run 77b2"
FREE: dict[str, Any] = records.empty_record("site-b")


def test_it_ends_with_its_holder_only() -> None:
    held = access_records.deny(FREE, "a run in eu only", NOW, RUN)
    assert held["access"] == {"state": "denied", "since": NOW, "reason": "a run in eu only", "holder": RUN}
    assert access_records.admit(held, OTHER) == held
    assert access_records.admit(held, RUN) == access_records.admit(held) == FREE
    assert access_records.deny(held, "a run in us only", LATER, OTHER) == held


def test_the_denial_of_a_person_replaces_it_and_stays() -> None:
    held = access_records.deny(FREE, "a run in eu only", NOW, RUN)
    denied = access_records.deny(held, "a break-in", LATER)
    assert denied["access"] == {"state": "denied", "since": NOW, "reason": "a break-in"}
    assert access_records.admit(denied, RUN) == denied
    assert access_records.deny(held, "", LATER)["access"] == {"state": "denied", "since": NOW, "reason": ""}, "the run's reason is not the person's"


def test_it_leaves_the_denial_of_a_person_as_it_is() -> None:
    denied = access_records.deny(FREE, "a break-in", NOW)
    assert access_records.deny(denied, "a run in eu only", LATER, RUN) == denied
    assert access_records.admit(denied, RUN) == denied and access_records.admit(denied) == FREE


def test_sites_without_a_record_are_denied_in_the_book() -> None:
    book = access_records.deny_absent({}, "site-b", "a run in eu only", NOW, RUN)
    assert access_records.admit_absent(book, "site-b", OTHER) == book
    assert access_records.admit_absent(book, "site-b", RUN) == access_records.admit_absent(book, "site-b") == {}
    assert access_records.differing({}, book) == {"site-b"} and access_records.differing(book, book) == set()


def test_whose_sites_are_denied() -> None:
    denials = access_records.denied(
        {},
        {
            "site-a": access_records.deny(FREE, "a break-in", NOW),
            "site-b": access_records.deny(FREE, "a run in eu only", NOW, RUN),
        },
    )
    assert access_records.sites_denied_by(denials, RUN) == ["site-b"]
    assert access_records.sites_denied_by(denials, OTHER) == access_records.sites_denied_by(denials, "") == []
    assert access_records.denied_by_others(denials, OTHER) == {"site-b": "a run in eu only"} and access_records.denied_by_others(denials, RUN) == {}
