# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times as people write them in variables, and as Kubernetes and Flower do. Pure."""

from __future__ import annotations

import datetime
import re
from typing import Any

_DURATION = re.compile(r"([0-9]{1,9})\s*(w|d|h|m|s)?")
_UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


def duration(value: Any) -> datetime.timedelta | None:
    """A time such as C(30d), C(12h), C(10m) or C(40s); a number alone counts days. None for an empty value.

    Raises:
        ValueError: it is not a duration.
    """
    if value is None or value == "":
        return None
    match = None if isinstance(value, bool) else _DURATION.fullmatch(str(value).strip())
    if not match:
        raise ValueError(f"{value!r} is not a duration like 30d, 12h, 10m or 40s")
    try:
        return datetime.timedelta(**{_UNITS[match[2] or "d"]: int(match[1])})
    except OverflowError as error:
        raise ValueError(f"{value!r} is longer than any certificate lasts") from error


def before(now: datetime.datetime, text: str) -> datetime.datetime:
    """The time that is a duration with its unit, such as C(12h) or C(8w), before C(now).

    Raises:
        ValueError: it is not such a duration, or longer than the calendar.
    """
    fault = ValueError(f"'{text}' is not a duration like 12h, 30d or 8w")
    if not text.strip()[-1:].isalpha():
        raise fault
    try:
        return now - (duration(text) or datetime.timedelta())
    except (ValueError, OverflowError):
        raise fault from None


def moment(value: Any) -> datetime.datetime | None:
    """A time in ISO 8601, in UTC unless it has an offset; None for anything else."""
    try:
        time = datetime.datetime.fromisoformat(str(value or "").strip().replace("Z", "+00:00"))
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=datetime.timezone.utc)
