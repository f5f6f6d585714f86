# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts, people, sizes, times and secrets as text that people read and write. Pure."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")

_DURATION = re.compile(r"([0-9]{1,9})\s*(w|d|h|m|s)?")
_TIME_UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}

#: Names of environment variables and keys of a node config whose values look like secrets; no settings of tokenizers.
_NAME = re.compile(
    r"PASSW|PASSPHRASE|SECRET|TOKEN(?!I[SZ])|CREDENTIAL|(API|ACCESS|LICENSE|PRIVATE)[_-]?KEY|KEY[_-]?DATA$|[_-](PASS|PWD)$|^PGPASS$", re.IGNORECASE
)
#: Names of what says where a secret is, and is none.
_PLACE = re.compile(r"[_-](FILE|PATH|DIR)$", re.IGNORECASE)
#: A URL with a user and a password, as those of proxies and databases.
_URL = re.compile(r"://[^/\s:@]*:[^/\s@]+@")


def is_path(text: str) -> bool:
    """Whether a text may be the path of a file, and not its content in YAML, JSON or PEM, which may be secret."""
    return "\n" not in text and not text.lstrip().startswith("{")


def named_hosts(host: str, message: str) -> str:
    """A message that starts with the name of an inventory host."""
    return message if message.startswith(f"{host}: ") else f"{host}: {message}"


def user_at_host(who: Mapping[str, Any]) -> str:
    """The user, and where: C(jane@laptop), of C(who) in the facts of a run (C(actions/run_facts.py)).

    AWX runs everything as one user: the user who launched the job is more useful.
    """
    return f"{who.get('awx_user') or who.get('user', '')}@{who.get('host', '')}"


def readable(size: float) -> str:
    """Bytes for people, like C(1.5 GiB)."""
    number = float(size)
    for unit in _BYTE_UNITS[:-1]:
        if number < 1024:
            return f"{number:.0f} {unit}" if unit == "B" or number >= 100 else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} {_BYTE_UNITS[-1]}"


def counted(number: int, thing: str) -> str:
    """A number of things, like C(1 file) and C(2 files)."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of texts as lines, in columns that are as wide as their widest text."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


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
        return datetime.timedelta(**{_TIME_UNITS[match[2] or "d"]: int(match[1])})
    except OverflowError as error:
        raise ValueError(f"{value!r} exceeds the maximum lifetime of a certificate") from error


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


def since(text: str, now: datetime.datetime) -> datetime.datetime:
    """A time in ISO 8601, or a duration before C(now).

    Raises:
        ValueError: it is neither.
    """
    try:
        return moment(text) or before(now, text)
    except ValueError:
        raise ValueError(f"'{text}' is neither a time like 2026-11-22 or 2026-11-22T14:00 (UTC) nor a duration before now like 90m, 12h, 2d or 1w") from None


def is_secret(name: str, value: Any) -> bool:
    """Whether a value looks like a secret: by its name, or since it is a URL with a password. A number of tokens is none."""
    if _URL.search(str(value)):
        return True
    counted = "TOKENS" in name.upper() and str(value).isdecimal()
    return bool(_NAME.search(name)) and not _PLACE.search(name) and not counted


def shown_value(objects: Iterable[Mapping[str, Any]]) -> list[str]:
    """Values in the environments of pods that look like secrets, which everyone who reads the objects sees: the beginning of a sentence for each
    container that has some, without the values.

    What the template of an add-on delivers is searched as well.
    """
    found = []
    for item in objects:
        spec = item.get("spec") or {}
        found += shown_value(((spec.get("agentSpec") or {}).get("workload") or {}).get("manifests") or [])
        pod = (spec.get("template") or {}).get("spec") or {}
        for one in [*(pod.get("initContainers") or []), *(pod.get("containers") or [])]:
            names = [str(env.get("name")) for env in one.get("env") or [] if env.get("value") and is_secret(str(env.get("name")), env["value"])]
            if names:
                found.append(f"{item['kind']} {item['metadata']['name']}, container {one['name']}: the value of {', '.join(names)} looks like a secret")
    return found
