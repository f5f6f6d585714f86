# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is done at once, what is not repeated, and what has an end."""

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.fleet.event_planner import DAY, Planner
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.event_request import (
    DEPLOY,
    FETCH,
    REPAIR,
    REPORT,
    ROTATE,
    Request,
)
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.known_fleet import from_names

FLEET = from_names([f"site-{number}" for number in range(30)], "flower_hub", "flower_sites")
WHOLE = ["flower_hub", "flower_sites"]


def repairs(*numbers: int) -> list[Request]:
    return [Request(REPAIR, f"site-{number}") for number in numbers]


def test_the_same_is_done_once_and_sites_together() -> None:
    events, refused = Planner().plan([*repairs(2, 1, 1), Request(ROTATE), Request(ROTATE), Request(FETCH, "7"), Request(FETCH, "8")], FLEET, 0)
    assert refused == []
    assert events == [
        {"do": REPAIR, "meta": {"hosts": ["site-1", "site-2"]}},
        {"do": ROTATE, "meta": {"hosts": WHOLE}},
        {"do": FETCH, "meta": {"hosts": WHOLE}, "run_ids": "7,8"},
    ]


def test_an_alert_that_comes_and_goes_has_three_repairs_a_day() -> None:
    planner, done, said = Planner(), [], set()
    for minute in range(0, 2 * 24 * 60, 5):
        events, refused = planner.plan(repairs(1), FLEET, minute * 60.0)
        done += [minute] * len(events)
        said.update(refused)
    assert done == [0, 15, 30, 1440, 1455, 1470]
    assert said == {"repair site-1: was done 3 times in 24 hours, so it is not repeated. Find the cause"}


def test_many_sites_at_once_are_reported_and_not_repaired() -> None:
    planner = Planner(most=20)
    events, (reason,) = planner.plan(repairs(*range(21)), FLEET, 0)
    assert events == [{"do": REPORT, "meta": {"hosts": WHOLE}}]
    assert reason.startswith("repair of 21 sites at once exceeds the maximum of 20, and was not done.")
    # Nothing was repaired, so each of them still can be.
    assert planner.plan(repairs(*range(20)), FLEET, 1)[0][0]["meta"]["hosts"] == sorted(
        f"site-{number}" for number in range(20)
    )


def test_unknown_sites_are_refused_for_themselves() -> None:
    events, refused = Planner().plan([*repairs(1, 99), Request(DEPLOY, "all")], FLEET, 0)
    assert [event["meta"]["hosts"] for event in events] == [["site-1"]]
    assert len(refused) == 2


def test_outputs_without_a_place() -> None:
    events, refused = Planner(fetch=False).plan([Request(FETCH, "7")], FLEET, 0)
    assert events == [] and refused == ["outputs of run 7 are not fetched: flower_outputs_directory is not set"]


def test_what_was_done_yesterday_is_forgotten() -> None:
    planner = Planner(repairs=1)
    assert planner.plan(repairs(1), FLEET, 0)[0]
    assert not planner.plan(repairs(1), FLEET, DAY - 1)[0]
    assert planner.plan(repairs(1), FLEET, DAY)[0]
