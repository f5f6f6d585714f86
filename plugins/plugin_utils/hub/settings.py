# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Option C(certificates) of the modules C(certificates) and C(preflight): where the gateway's certificate comes from.

Documented in doc_fragments/certificates.py.
"""

from __future__ import annotations

import datetime
import re
from typing import Any

from .sources.base import BUILTIN, SOURCES

OPTIONS: dict[str, dict[str, Any]] = {
    "source": {"type": "str", "choices": list(SOURCES), "default": BUILTIN},
    "days": {"type": "int", "default": 90},
    "renew_before": {"type": "str", "default": ""},
}

_DURATION = re.compile(r"(\d+)\s*(d|h|m|s)?")
_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


def duration(value: Any) -> datetime.timedelta | None:
    """A time such as C(30d), C(12h), C(10m) or C(40s); a number alone counts days. None for an empty value.

    Raises:
        ValueError: it is no such time.
    """
    if value in (None, ""):
        return None
    match = _DURATION.fullmatch(str(value).strip())
    if not match:
        raise ValueError(f"{value!r} is no time like 30d, 12h, 10m or 40s")
    return datetime.timedelta(**{_UNITS[match[2] or "d"]: int(match[1])})
