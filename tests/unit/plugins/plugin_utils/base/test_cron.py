# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The times of a calendar are those of Kubernetes' CronJobs."""

from __future__ import annotations

import datetime
import itertools

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base import cron


def times(text: str, after: str, zone: str = "Etc/UTC", count: int = 2) -> list[str]:
    found = cron.times(cron.parse(text), cron.zone(zone), datetime.datetime.fromisoformat(after))
    return [one.strftime("%a %Y-%m-%d %H:%M %z") for one in itertools.islice(found, count)]


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("0 2 * * sun", "Sun 2026-11-29 02:00", "Sun 2026-12-06 02:00"),
        ("30 */12 * * *", "Sat 2026-11-28 12:30", "Sun 2026-11-29 00:30"),
        ("15,45 9-10 1 JAN,jul *", "Fri 2027-01-01 09:15", "Fri 2027-01-01 09:45"),
        ("0 0 13 * 5", "Fri 2026-12-04 00:00", "Fri 2026-12-11 00:00"),  # one of both days is enough
        ("0 0 */1 * 5", "Fri 2026-12-04 00:00", "Fri 2026-12-11 00:00"),  # with a star both are needed
        ("0 0 */13 * 5", "Tue 2026-12-01 00:00", "Fri 2026-12-04 00:00"),  # one with a step restricts as numbers do
        ("0 0 29 2 *", "Tue 2028-02-29 00:00", "Sun 2032-02-29 00:00"),
        ("5/20 23 ? * *", "Sat 2026-11-28 23:05", "Sat 2026-11-28 23:25"),
    ],
)
def test_the_next_times(text: str, first: str, second: str) -> None:
    assert times(text, "2026-11-28T12:00:00+00:00") == [f"{first} +0000", f"{second} +0000"]


def test_a_time_that_summer_time_leaves_out_does_not_exist_and_one_that_comes_twice_counts_once() -> None:
    assert times("30 2 * * *", "2027-03-27T02:00:00+00:00", "Europe/Berlin", 1) == ["Mon 2027-03-29 02:30 +0200"]
    assert times("30 2 * * *", "2026-10-24T12:00:00+00:00", "Europe/Berlin") == ["Sun 2026-10-25 02:30 +0200", "Mon 2026-10-26 02:30 +0100"]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("@daily", "is not five fields"),
        ("60 * * * *", "has '60' for the minute, which is 0 to 59"),
        ("* 5-3 * * *", "has '5-3' for the hour"),
        ("* * 0 * *", "has '0' for the day of the month, which is 1 to 31"),
        ("* * * feb-mai *", "has 'feb-mai' for the month"),
        ("* * * * 7", "has '7' for the day of the week, which is 0 to 6"),
        ("*/0 * * * *", "has '*/0' for the minute"),
        ("1,,2 * * * *", "has '' for the minute"),
        ("٣ * * * *", "has '٣' for the minute"),
    ],
)
def test_what_is_no_calendar_is_refused_with_the_part(text: str, part: str) -> None:
    with pytest.raises(ValueError) as refused:
        cron.parse(text)
    assert part in str(refused.value)


@pytest.mark.parametrize("name", ["", "Berlin", "Europe", "../../etc/passwd", "/etc/localtime"])
def test_what_is_no_time_zone_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not a time zone"):
        cron.zone(name)
