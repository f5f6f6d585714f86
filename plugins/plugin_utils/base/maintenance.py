# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Maintenance windows of sites, C(flower_maintenance): each week, or once. Pure.

Times are those of clocks on the wall in the window's time zone, so a window keeps them when summer time begins or ends.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from . import cron

VARIABLE = "flower_maintenance"
_KEYS = {"from", "to", "timezone"}
_WEEK = datetime.timedelta(days=7)
_OF_WEEK = re.compile(rf"({'|'.join(cron.WEEKDAYS)}) ([01]?[0-9]|2[0-3]):([0-5][0-9])", re.IGNORECASE)
_FORMS = '"Sun 02:00" or "2026-12-24 18:00"'

Moment = datetime.timedelta | datetime.datetime  # since the beginning of the week, or a time without a zone


def open_until(windows: Any, now: datetime.datetime) -> datetime.datetime | None:
    """When the windows that are open at a time are over; None if none is open.

    Raises:
        ValueError: a window is none; its place and the fault.
    """
    if windows in (None, ""):
        return None
    if not isinstance(windows, list):
        raise ValueError(f": {windows!r} is not a list of windows {{from, to, timezone}}")
    moment, found = now.astimezone(datetime.timezone.utc), None
    for number, window in enumerate(windows):
        for begin, end in _spans(window, f"[{number}]", moment):
            # Of one zone, Python compares the clocks on the wall.
            if begin.astimezone(datetime.timezone.utc) <= moment < end.astimezone(datetime.timezone.utc) and (found is None or found < end):
                found = end
    return found


def in_maintenance(hosts: Mapping[str, Mapping[str, Any]], sites: Iterable[str], now: datetime.datetime | None = None) -> dict[str, str]:
    """Site -> until when it is in maintenance, for people; of the sites that are.

    Args:
        hosts: the variables of all hosts.
        sites: inventory names.

    Raises:
        ValueError: a window is none; a sentence with host and variable.
    """
    now, found = now or datetime.datetime.now(datetime.timezone.utc), {}
    for site in map(str, sites):
        try:
            end = open_until((hosts.get(site) or {}).get(VARIABLE), now)
        except ValueError as error:
            raise ValueError(f"{site}: {VARIABLE}{error}") from error
        if end:
            found[site] = f"{end:%Y-%m-%d %H:%M %Z}"
    return found


def _spans(window: Any, place: str, around: datetime.datetime) -> Iterator[tuple[datetime.datetime, datetime.datetime]]:
    """Beginning and end of a window, of a weekly one those around a time."""
    if not isinstance(window, Mapping) or not {"from", "to"} <= window.keys() <= _KEYS:
        raise ValueError(f"{place}: {window!r} is not a window {{from, to, timezone}}")
    try:
        zone = cron.zone(str(window.get("timezone") or "Etc/UTC"))
    except ValueError as error:
        raise ValueError(f"{place}.timezone: {window['timezone']!r} {error}") from error
    first, last = (_moment(window[key], f"{place}.{key}") for key in ("from", "to"))
    if isinstance(first, datetime.timedelta) and isinstance(last, datetime.timedelta) and first != last:
        local = around.astimezone(zone)
        sunday = datetime.datetime.combine(local.date() - datetime.timedelta(days=local.isoweekday() % 7), datetime.time())
        for begin in (sunday - _WEEK + first, sunday + first):
            yield begin.replace(tzinfo=zone), (begin + (last - first) % _WEEK).replace(tzinfo=zone)
    elif isinstance(first, datetime.datetime) and isinstance(last, datetime.datetime) and first < last:
        yield first.replace(tzinfo=zone), last.replace(tzinfo=zone)
    else:
        raise ValueError(f"{place}.to: {window['to']!r} is not after {window['from']!r}: both are times of a week, or of a calendar ({_FORMS})")


def _moment(given: Any, place: str) -> Moment:
    text = " ".join(str(given).split())
    if match := _OF_WEEK.fullmatch(text):
        day = cron.WEEKDAYS.index(match[1].lower())
        return datetime.timedelta(days=day, hours=int(match[2]), minutes=int(match[3]))
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is not None or len(text) < len("2026-12-24 18:00"):
        raise ValueError(f"{place}: {given!r} is not a time such as {_FORMS}")
    return found
