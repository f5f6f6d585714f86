# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a message of the outside asks for, before it is known whether it may be done. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

REPAIR = "repair"
HEAL = "heal"
DEPLOY = "deploy"
ROTATE = "rotate"
FETCH = "fetch"
REPORT = "report"

# What messages can ask for; deployments come from the inventory alone.
ASKED = (REPAIR, HEAL, ROTATE, FETCH, REPORT)
# What is done for single sites.
OF_SITES = (REPAIR, HEAL, DEPLOY)

# Alert -> action, of the rules of this collection (roles/superlink/files/metrics/alerts.yml). Others are named in the rulebook's variable.
ALERTS: Mapping[str, str] = {
    "FlowerSiteOffline": REPAIR,
    "FlowerSuperNodeOffline": HEAL,
    "FlowerCertificateExpiresSoon": ROTATE,
    "FlowerCertificateExpired": ROTATE,
    "FlowerSuperLinkUnreachable": REPORT,
}

# Type of a message -> action.
_TYPES: Mapping[str, str] = {
    "site-degraded": REPAIR,
    "supernode-offline": HEAL,
    "certificate-due": ROTATE,
    "run-ended": FETCH,
    "status": REPORT,
}

# Run ids of Flower are unsigned numbers of 64 bits.
_RUN = re.compile(r"[0-9]{1,20}")
_SHOWN = 80


@dataclass(frozen=True, order=True)
class Wish:
    """One thing to do.

    Attributes:
        do: C(repair), C(heal), C(deploy), C(rotate), C(fetch) or C(report).
        target: name of a site to repair, heal or deploy, as the sender wrote it, until the planner has compared it with the inventory; the id
            of a run whose outputs are to be fetched; the name of a site whose absence is to be reported; else empty.
    """

    do: str
    target: str = ""


def shown(value: Any) -> str:
    """A value of a message for the log: on one line, and not longer than 80 characters."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def wishes(payload: Any, alerts: Mapping[str, str], namespaces: Sequence[str]) -> tuple[list[Wish], list[str]]:
    """Read a message of Alertmanager (version 4 of its webhook) or one with C(type).

    Args:
        payload: the message, any JSON value.
        alerts: name of an alert -> action.
        namespaces: of the federation. Alerts with another one in their label C(namespace) are refused: Prometheus and Alertmanager may
            serve several federations, whose sites have the same names.

    Returns:
        What it asks for, and what is refused, each with its reason.
    """
    if not isinstance(payload, Mapping):
        return [], [f"a message is not an object, but {shown(payload)}"]
    if isinstance(payload.get("alerts"), list):
        found = [_of_alert(alert, alerts, namespaces) for alert in payload["alerts"]]
    else:
        found = [_of_message(payload)]
    return [one for one in found if isinstance(one, Wish)], [one for one in found if isinstance(one, str)]


def _of_alert(alert: Any, alerts: Mapping[str, str], namespaces: Sequence[str]) -> Wish | str | None:
    """What an alert asks for; a text says why it is refused, and nothing is done about one that is resolved."""
    labels = alert.get("labels") if isinstance(alert, Mapping) else None
    if not isinstance(labels, Mapping):
        return f"an alert has no labels: {shown(alert)}"
    if alert.get("status") == "resolved":
        return None
    name = labels.get("alertname")
    if not isinstance(name, str) or name not in alerts:
        return f"alert {shown(name)} has no action; flower_event_alerts can give it one"
    namespace = labels.get("namespace")
    if namespace and namespace not in namespaces:
        return (
            f"alert {name}: label namespace is {shown(namespace)}, which is none of this federation's, {shown([*namespaces])}; "
            "flower_event_namespaces can name it"
        )
    return _wish(alerts[name], labels.get("site"), labels.get("run_id"), f"alert {name}", "label")


def _of_message(message: Mapping[str, Any]) -> Wish | str:
    kind = message.get("type")
    if not isinstance(kind, str) or kind not in _TYPES:
        return f"a message has the type {shown(kind)}, which is not one of {', '.join(_TYPES)}"
    return _wish(_TYPES[kind], message.get("site"), message.get("run_id"), f"message {kind}", "field")


def _wish(do: str, site: Any, run: Any, what: str, field: str) -> Wish | str:
    if do in OF_SITES:
        return Wish(do, site) if isinstance(site, str) and site else f"{what}: {field} site is {shown(site)}, not a name"
    if do == FETCH:
        if isinstance(run, bool) or not isinstance(run, (int, str)) or not _RUN.fullmatch(str(run)):
            return f"{what}: {field} run_id is {shown(run)}, not the id of a run"
        return Wish(do, str(run))
    return Wish(do)
