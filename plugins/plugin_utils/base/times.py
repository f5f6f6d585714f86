# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times as people write them in variables. Pure."""

from __future__ import annotations

import datetime
import re
from typing import Any

_DURATION = re.compile(r"([0-9]{1,9})\s*(d|h|m|s)?")
_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


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
