# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an outside message requests, before it is known whether it may be done, and the options of the event source. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from posixpath import isabs
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

_SECRETS = ("token", "hmac_secret")
_SHORTEST = 16
# Passed to the webhook as they are, if they have a value.
_WEBHOOK = ("host", "port", *_SECRETS, "certfile", "keyfile", "password", "cafile")
_NUMBERS: Mapping[str, float] = {"watch": 60.0, "gather": 5.0, "repairs": 3, "pause": 900.0, "most": 20}
_NAMES = ("sites", "namespaces")
_TEXTS = {"inventory": "", "outputs_directory": "", "hub_group": "flower_hub", "sites_group": "flower_sites"}


@dataclass(frozen=True, order=True)
class Request:
    """One thing to do.

    Attributes:
        do: C(repair), C(heal), C(deploy), C(rotate), C(fetch) or C(report).
        target: name of a site to repair, heal or deploy, as the sender wrote it, until the planner has compared it with the inventory; the id
            of a run whose outputs are to be fetched; the name of a site whose absence is to be reported; else empty.
    """

    do: str
    target: str = ""


def shown_request(value: Any) -> str:
    """A value of a message for the log: on one line, and not longer than 80 characters."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def parse_requests(payload: Any, alerts: Mapping[str, str], namespaces: Sequence[str]) -> tuple[list[Request], list[str]]:
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
        return [], [f"a message must be a JSON object, not {shown_request(payload)}"]
    if isinstance(payload.get("alerts"), list):
        found = [_of_alert(alert, alerts, namespaces) for alert in payload["alerts"]]
    elif isinstance(kind := payload.get("type"), str) and kind in _TYPES:
        found = [_request(_TYPES[kind], payload, f"message {kind}: field")]
    else:
        found = [f"a message has the type {shown_request(kind)}, which is not one of {', '.join(_TYPES)}"]
    return [one for one in found if isinstance(one, Request)], [one for one in found if isinstance(one, str)]


def _of_alert(alert: Any, alerts: Mapping[str, str], namespaces: Sequence[str]) -> Request | str | None:
    """What an alert asks for; a text says why it is refused, and nothing is done about one that is resolved."""
    labels = alert.get("labels") if isinstance(alert, Mapping) else None
    if not isinstance(labels, Mapping):
        return f"an alert has no labels: {shown_request(alert)}"
    if alert.get("status") == "resolved":
        return None
    name, namespace = labels.get("alertname"), labels.get("namespace")
    if not isinstance(name, str) or name not in alerts:
        return f"alert {shown_request(name)} has no action; set one in flower_event_alerts"
    if namespace and namespace not in namespaces:
        return (
            f"alert {name}: label namespace is {shown_request(namespace)}, which is none of this federation's, {shown_request([*namespaces])}; "
            "flower_event_namespaces can name it"
        )
    return _request(alerts[name], labels, f"alert {name}: label")


def _request(do: str, given: Mapping[str, Any], where: str) -> Request | str:
    """An action with the site or the run that a message names, or why there is none."""
    site, run = given.get("site"), given.get("run_id")
    if do in OF_SITES:
        return Request(do, site) if isinstance(site, str) and site else f"{where} site is {shown_request(site)}, not a name"
    if do != FETCH:
        return Request(do)
    if isinstance(run, bool) or not isinstance(run, (int, str)) or not _RUN.fullmatch(str(run)):
        return f"{where} run_id is {shown_request(run)}, not the id of a run"
    return Request(do, str(run))


@dataclass(frozen=True)
class SourceOptions:
    """Options of the event source C(fleet_events), which documents them. C(webhook): those of C(eda.builtin.webhook); empty without one."""

    webhook: dict[str, Any]
    alerts: dict[str, str]
    sites: list[str]
    namespaces: list[str]
    inventory: str
    hub_group: str
    sites_group: str
    outputs_directory: str
    watch: float
    gather: float
    repairs: int
    pause: float
    most: int


def read_options(args: Mapping[str, Any]) -> SourceOptions:
    """Check the arguments of the source.

    Raises:
        ValueError: one of them is wrong; the text names it and the remedy, and shows no secret.
    """
    unknown = sorted(args.keys() - {*_WEBHOOK, *_NUMBERS, *_TEXTS, *_NAMES, "alerts"})
    if unknown:
        raise ValueError(f"{', '.join(unknown)}: there is no such option")
    numbers = {}
    for key, default in _NUMBERS.items():
        value = args.get(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
            raise ValueError(f"{key}: {value!r} is not a number of 0 or more")
        numbers[key] = type(default)(value)
    texts = {key: str(args.get(key) or default) for key, default in _TEXTS.items()}
    names: dict[str, list[str]] = {key: args.get(key) or [] for key in _NAMES}
    for key, value in names.items():
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise ValueError(f"{key}: is not a list of names (flower_event_{key})")
    if bool(names["sites"]) == bool(texts["inventory"]):
        raise ValueError("inventory, sites: set one of them (flower_event_inventory, flower_event_sites); they define the sites that events may act on")
    if texts["outputs_directory"] and not isabs(texts["outputs_directory"]):
        raise ValueError(
            f"outputs_directory: {texts['outputs_directory']} is not an absolute path (flower_outputs_directory); playbooks run in a folder that is "
            "deleted afterwards"
        )
    webhook = _webhook(args)
    if not webhook and not (texts["inventory"] and numbers["watch"]):
        raise ValueError("port, watch: there is nothing to do; set flower_event_port, or flower_event_inventory and flower_event_watch")
    alerts = args.get("alerts") or {}
    if not isinstance(alerts, Mapping):
        raise ValueError("alerts: is not a dict of alert and action (flower_event_alerts)")
    for name, do in alerts.items():
        if do not in ASKED:
            raise ValueError(f"alerts: {name}: {do!r} is not one of {', '.join(ASKED)} (flower_event_alerts)")
    given: dict[str, Any] = {**numbers, **texts, **names}
    return SourceOptions(webhook=webhook, alerts={**ALERTS, **alerts}, **given)


def _webhook(args: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the webhook. Without a secret there is none: anyone who reaches the port could start playbooks."""
    if not args.get("port"):
        return {}
    given = {"host": "127.0.0.1"} | {key: args[key] for key in _WEBHOOK if args.get(key)}
    secrets = [key for key in _SECRETS if key in given]
    if not secrets:
        raise ValueError(
            "token, hmac_secret: the webhook needs one of them: put it into the environment variable FLOWER_EVENT_TOKEN or "
            "FLOWER_EVENT_HMAC_SECRET, and name that variable with --env-vars"
        )
    for key in secrets:
        # A rulebook makes numbers and lists of texts that look like one.
        if not isinstance(given[key], str) or len(given[key]) < _SHORTEST:
            raise ValueError(f"{key}: is not a text of {_SHORTEST} characters or more, with letters; generate one with openssl rand -hex 24")
    for key in ("cafile", "keyfile"):
        # The webhook would listen without TLS, and ask for no client certificate, without a word.
        if key in given and "certfile" not in given:
            raise ValueError(f"{key}: it has no effect without certfile, the certificate of the webhook (flower_event_{key}, flower_event_certfile)")
    return given
