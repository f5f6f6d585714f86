# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The calendar of a CronJob: five fields, as Kubernetes reads them (github.com/robfig/cron, ParseStandard), and the times that they mean. Pure."""

from __future__ import annotations

import datetime
import re
import zoneinfo
from collections.abc import Iterator
from typing import NamedTuple

WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_FIELDS = (("minute", 0, 59, ()), ("hour", 0, 23, ()), ("day of the month", 1, 31, ()), ("month", 1, 12, _MONTHS), ("day of the week", 0, 6, WEEKDAYS))
_PART = re.compile(r"(?:([*?])|([0-9a-z]{1,3})(?:-([0-9a-z]{1,3}))?)(?:/([0-9]{1,2}))?")
_ANY = re.compile(r"[*?](/0?1)?")  # with a greater step, days are restricted (robfig/cron 3.0.1, getRange)
_DAYS = 8 * 366 + 1  # 29 February comes every four years, or eight


class Cron(NamedTuple):
    """A calendar. C(either): both kinds of days are restricted, so that one of them is enough."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool

    def has_day(self, day: datetime.date) -> bool:
        """Whether there are times on this day."""
        fits = (day.day in self.days, day.isoweekday() % 7 in self.weekdays)
        return day.month in self.months and (any(fits) if self.either else all(fits))


def parse(text: str) -> Cron:
    """Read five fields.

    Raises:
        ValueError: they are none; a part of a sentence that says which is wrong.
    """
    fields = text.split()
    if len(fields) != len(_FIELDS):
        raise ValueError('is not five fields "MINUTE HOUR DAY MONTH WEEKDAY", such as "0 2 * * sun"')
    minutes, hours, days, months, weekdays = (_numbers(given.lower(), *known) for given, known in zip(fields, _FIELDS))
    return Cron(minutes, hours, days, months, weekdays, either=not any(_ANY.fullmatch(part) for number in (2, 4) for part in fields[number].split(",")))


def _numbers(given: str, name: str, least: int, most: int, words: tuple[str, ...]) -> frozenset[int]:
    found: set[int] = set()
    for part in given.split(","):
        match = _PART.fullmatch(part)
        star, first, last, step = match.groups() if match else ("", "", "", "")
        low = least if star else _number(first, least, words)
        high = _number(last, least, words) if last else most if star or step else low
        if not match or low is None or high is None or not least <= low <= high <= most or step == "0":
            raise ValueError(f"has {part!r} for the {name}, which is {least} to {most}")
        found.update(range(low, high + 1, int(step or 1)))
    return frozenset(found)


def _number(given: str, least: int, words: tuple[str, ...]) -> int | None:
    return words.index(given) + least if given in words else int(given) if given and given.isdigit() else None


def zone(name: str) -> zoneinfo.ZoneInfo:
    """A time zone by its name.

    Raises:
        ValueError: there is none; a part of a sentence.
    """
    try:
        return zoneinfo.ZoneInfo(name)
    except (OSError, ValueError, zoneinfo.ZoneInfoNotFoundError) as error:  # also a folder of the database
        raise ValueError("is not a time zone known to this control node, such as Etc/UTC or Europe/Berlin (package tzdata)") from error


def times(cron: Cron, place: zoneinfo.ZoneInfo, after: datetime.datetime) -> Iterator[datetime.datetime]:
    """The times after C(after), in order. Those that a change to summer time leaves out do not exist; those that come twice count once."""
    first = after.astimezone(place).date()
    for day in (first + datetime.timedelta(number) for number in range(_DAYS)):
        for hour, minute in [(hour, minute) for hour in sorted(cron.hours) for minute in sorted(cron.minutes)] if cron.has_day(day) else []:
            found = datetime.datetime.combine(day, datetime.time(hour, minute), place)
            exists = found.astimezone(datetime.timezone.utc).astimezone(place).replace(tzinfo=None) == found.replace(tzinfo=None)
            if exists and found > after:
                yield found
