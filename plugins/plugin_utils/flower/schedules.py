# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Trainings on a calendar: what may be wanted of one, and what is known of those that a hub has."""

from __future__ import annotations

import contextlib
import datetime
import re
from collections.abc import Mapping
from typing import Any

from ..base import cron, foreign_data, formats
from ..base.labels import own_pods, query
from ..base.object_names import SCHEDULE, SCHEDULE_ANNOTATION, SCHEDULED_APP_ANNOTATION
from ..kube.client import Cluster

OVERLAPS = ("skip", "allow")
DEFAULTS: Mapping[str, Any] = {"timezone": "Etc/UTC", "suspend": False, "overlap": "skip", "min_supernodes": 1, "timeout": 86400}
_LONGEST = 52 - len(SCHEDULE) - 1  # a CronJob's name has 52 characters at most
_NAME = re.compile(rf"[a-z0-9](?:[a-z0-9-]{{0,{_LONGEST - 2}}}[a-z0-9])?")
_NUMBERS = {"min_supernodes": (0, 100_000), "timeout": (60, 30 * 86400)}
_SHOWN = 200  # characters of a text of others


def problem_of_name(name: str) -> str:
    """What is wrong with the name of a schedule; empty if nothing is."""
    if _NAME.fullmatch(name):
        return ""
    return f"flower_schedule: {name!r} is not a name of 1 to {_LONGEST} lowercase letters, digits and -, with a letter or digit at both ends"


def problems(settings: Mapping[str, Any]) -> list[str]:
    """What is wrong with the settings of a schedule: sentences that name the variables."""
    found = []
    for name, read in (("cron", cron.parse), ("timezone", cron.zone)):
        try:
            read(str(settings[name]))
        except ValueError as error:
            found.append(f"flower_schedule_{name}: {settings[name]!r} {error}")
    if settings["overlap"] not in OVERLAPS:
        found.append(f"flower_schedule_overlap: {settings['overlap']!r} is not one of {', '.join(OVERLAPS)}")
    for name, (least, most) in _NUMBERS.items():
        if not isinstance(settings[name], int) or not least <= settings[name] <= most:
            found.append(f"flower_schedule_{name}: {settings[name]!r} is not a number from {least} to {most}")
    if not found and not next(cron.times(cron.parse(settings["cron"]), cron.zone(settings["timezone"]), _now()), None):
        found.append(f"flower_schedule_cron: {settings['cron']!r} never occurs, such as 30 February")
    return found


def read(hub: Cluster, namespace: str, federation: str) -> list[dict[str, Any]]:
    """The schedules of a hub, each with its next time and what became of the last one.

    Returns:
        C(name), C(app), C(cron), C(timezone), C(suspended), C(next) (ISO 8601, empty if none comes) and C(last): C(at), C(status), C(run) and C(why),
        or empty.

    Raises:
        Forbidden: they may not be read.
    """
    labels = query(own_pods(federation, SCHEDULE))
    jobs = hub.list("batch/v1", "CronJob", namespace, labels=labels)
    pods = hub.list("v1", "Pod", namespace, labels=labels) if jobs else []
    last = {_notes(pod).get(SCHEDULE_ANNOTATION): pod for pod in sorted(pods, key=lambda pod: str(pod["metadata"].get("creationTimestamp")))}
    found = ((str(job["metadata"]["name"]).removeprefix(f"{SCHEDULE}-"), job) for job in jobs)
    return [_facts(name, job, last.get(name)) for name, job in sorted(found, key=lambda one: one[0])]


def describe(one: Mapping[str, Any]) -> str:
    """A schedule in a line."""
    coming = formats.moment(one["next"])
    soon = "suspended" if one["suspended"] else f"next {coming:%Y-%m-%d %H:%M}" if coming else "no next time is known"
    words = f"schedule {one['name']}: {one['app']}, {one['cron']} {one['timezone']}, {soon}"
    last = one["last"]
    if not last:
        return f"{words}; it has not run yet"
    of_run = f", run {last['run']}" if last["run"] else ""
    return f"{words}; last {last['at'][:16].replace('T', ' ')} UTC: {last['status']}{of_run}" + (f" ({last['why']})" if last["why"] else "")


def _facts(name: str, job: Mapping[str, Any], pod: Mapping[str, Any] | None) -> dict[str, Any]:
    spec = job["spec"]
    given, place, suspended = _text(spec.get("schedule")), _text(spec.get("timeZone") or "Etc/UTC"), spec.get("suspend") is True
    coming = None
    with contextlib.suppress(ValueError):  # changed by someone else
        coming = None if suspended else next(cron.times(cron.parse(given), cron.zone(place), _now()), None)
    at = _text((job.get("status") or {}).get("lastScheduleTime"))
    return {
        "name": name,
        "app": _text(_notes(job).get(SCHEDULED_APP_ANNOTATION)),
        "cron": given,
        "timezone": place,
        "suspended": suspended,
        "next": coming.isoformat() if coming else "",
        "last": _last(pod, at),
    }


def _last(pod: Mapping[str, Any] | None, at: str) -> dict[str, str]:
    """What became of a run, as the pod that started it says. C(at): when the last one was due, in ISO 8601; empty if none was."""
    # Jobs are deleted, by people and by the nodes that had them. An older pod is that of a run before, kept while its successor is refused.
    if pod is None or str(pod["metadata"].get("creationTimestamp")) < at:
        return {"at": at, "status": "unknown", "run": "", "why": "it has no pod"} if at else {}
    status = pod.get("status") or {}
    phase = str(status.get("phase"))
    found: dict[str, Any] = {"status": {"Succeeded": "completed", "Failed": "failed"}.get(phase, phase.lower()), "why": status.get("reason") or ""}
    with contextlib.suppress(*foreign_data.FAULTS):
        ended = status["containerStatuses"][0]["state"]["terminated"]
        found = {"why": f"exit code {ended.get('exitCode')}", **found, **foreign_data.read_json(str(ended.get("message")))}
    return {"at": _text(pod["metadata"].get("creationTimestamp")), **{name: _text(found.get(name) or "") for name in ("status", "run", "why")}}


def _notes(item: Mapping[str, Any]) -> dict[str, Any]:
    return item["metadata"].get("annotations") or {}


def _text(value: Any) -> str:
    return foreign_data.cleaned(str(value or ""), _SHOWN)


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)
