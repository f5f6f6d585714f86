# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Summary of the Skupper network, from the hub and from a site. Pure functions on live objects.

The hub's view of others comes from their routers. Deleted links may remain there for a while (Skupper issue 2069).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..base.object_names import FLEET_PORT
from ..base.values import integer, text
from ..manifests.skupper import FLEET
from . import link_credentials, state
from .site_plan import active

Object = Mapping[str, Any]


def _short(site: Object) -> dict[str, Any]:
    found = state.site(site)
    return {
        "name": site["metadata"]["name"],
        "uid": state.uid(site),
        "ready": found.ready,
        "trouble": found.why,
        "endpoints": [f"{one.get('host')}:{one.get('port')}" for one in state.status(site).get("endpoints") or []],
        "controller": (state.status(site).get("controller") or {}).get("version", ""),
    }


def of_hub(
    sites: Iterable[Object], connectors: Iterable[Object], certificates: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The view of the hub.

    Args:
        sites: Sites of its namespace.
        connectors: its Connectors.
        certificates: public facts of C(rotation.facts).

    Returns:
        C(site) (empty where there is none), C(linked) (name -> whether its link is up, of sites with a link to the hub),
        C(listeners) (names of sites that listen for the SuperLink), C(connector) (C(ready), C(trouble), C(keys)), C(certificates).
    """
    site = active(sites)
    if site is None:
        return {}
    mine = state.uid(site)
    found: dict[str, bool] = {}
    listening = []
    ways = _to_superlink(connectors)
    keys = sorted({text(one["spec"].get("routingKey")) for one in ways})
    for other in state.status(site).get("network") or []:
        name = other.get("name") or other.get("id", "?")
        for link in other.get("links") or []:
            if link.get("remoteSiteId") == mine:
                found[name] = found.get(name, False) or bool(link.get("operational"))
        if any(one.get("routingKey") in keys and one.get("listeners") for one in other.get("services") or []):
            listening.append(name)
    states = [state.connector(one) for one in ways] or [state.State(False, "there is no Connector to the SuperLink")]
    connected = next((one for one in states if one.ready), states[0])
    return {
        "site": _short(site),
        "linked": dict(sorted(found.items())),
        "listeners": sorted(listening),
        "connector": {"ready": connected.ready, "trouble": connected.why, "keys": keys},
        "certificates": list(certificates),
    }


def _to_superlink(connectors: Iterable[Object]) -> list[Object]:
    """Ours; without it those of someone else that may be used in its place, see C(site_plan.decide_connector)."""
    found = list(connectors)
    ours = [one for one in found if one["metadata"]["name"] == FLEET]
    return ours or [one for one in found if integer(one["spec"].get("port")) == FLEET_PORT or one["spec"].get("host")]


def of_site(
    sites: Iterable[Object],
    links: Iterable[Object],
    listeners: Iterable[Object],
    services: Mapping[str, Object | None],
    secrets: Mapping[str, Mapping[str, str]],
) -> dict[str, Any]:
    """The view of a site.

    Args:
        sites: Sites of its namespace.
        links: its Links.
        listeners: its Listeners.
        services: host of a Listener -> its Service.
        secrets: name -> decoded entries of the Secrets to which the Links refer.

    Returns:
        C(site), C(links) (C(name), C(ready), C(trouble), C(remote), C(remote_uid), C(not_after)) and C(listeners) (C(name), C(key),
        C(address), C(ready), C(trouble)); empty where there is no Site.
    """
    site = active(sites)
    if site is None:
        return {}
    reported = []
    for link in links:
        found = state.link(link, own_site=site)
        entries = secrets.get((link.get("spec") or {}).get("tlsCredentials") or "") or {}
        reported.append(
            {
                "name": link["metadata"]["name"],
                "ready": found.ready,
                "trouble": found.why,
                "remote": state.status(link).get("remoteSiteName", ""),
                "remote_uid": state.status(link).get("remoteSiteId", ""),
                "not_after": link_credentials.describe(entries.get("tls.crt", "")).get("not_after", ""),
            }
        )
    heard = []
    for listener in listeners:
        found = state.listener(listener, services.get(listener["spec"].get("host")))
        heard.append(
            {
                "name": listener["metadata"]["name"],
                "key": text(listener["spec"].get("routingKey")),
                "address": f"{listener['spec'].get('host')}:{listener['spec'].get('port')}",
                "ready": found.ready,
                "trouble": found.why,
            }
        )
    return {"site": _short(site), "links": reported, "listeners": heard}


def problems(
    hub_name: str, hub: Mapping[str, Any], sites: Mapping[str, Mapping[str, Any]], now: Any, within: Any
) -> list[str]:
    """Sentences on what is wrong with the network.

    Args:
        hub_name: inventory name of the hub.
        hub: the result of C(of_hub).
        sites: inventory name -> the result of C(of_site), of the checked sites that are reached through Skupper.
        now: the time to judge by.
        within: how early an expiry is reported.
    """
    if not hub:
        return (
            [f"hub {hub_name}: there is no Skupper site, and {', '.join(sites)} would be reached through it"]
            if sites
            else []
        )
    reported = []
    if not hub["site"]["ready"]:
        reported.append(f"hub {hub_name}: Skupper site {hub['site']['name']} is not ready: {hub['site']['trouble']}")
    if not hub["connector"]["ready"]:
        reported.append(f"hub {hub_name}: the Connector to the SuperLink is not ready: {hub['connector']['trouble']}")
    reported += [f"hub {hub_name}: {word}" for word in link_credentials.ending(hub["certificates"], now, within)]
    ours = set()
    for name, site in sites.items():
        ours.add((site.get("site") or {}).get("name"))
        reported += [f"{name}: {word}" for word in _site_problems(site, hub, now, within)]
    for name, up in hub["linked"].items():
        if up and name not in ours:
            reported.append(f"{name} is linked to the hub through Skupper, but is not one of the checked sites")
    return reported


def _site_problems(site: Mapping[str, Any], hub: Mapping[str, Any], now: Any, within: Any) -> list[str]:
    if not site:
        return ["there is no Skupper site"]
    reported = []
    if not site["site"]["ready"]:
        reported.append(f"Skupper site {site['site']['name']} is not ready: {site['site']['trouble']}")
    good = [link for link in site["links"] if link["ready"] and link["remote_uid"] == hub["site"]["uid"]]
    if not good:
        why = "; ".join(f"{link['name']}: {link['trouble'] or 'it leads elsewhere'}" for link in site["links"])
        reported.append(f"it is not linked to the hub: {why or 'it has no Link'}")
    # Links and Listeners that others have in this namespace are not the federation's.
    facts = [{"what": f"the certificate of its link {link['name']}", **link} for link in good or site["links"]]
    reported += link_credentials.ending(facts, now, within)
    keys = hub["connector"]["keys"]
    own = [one for one in site["listeners"] if one["key"] in keys] if keys else site["listeners"]
    reported += [f"Listener {one['name']} ({one['address']}): {one['trouble']}" for one in own if not one["ready"]]
    if not own:
        reported.append(f"it has no Listener for the SuperLink (routing key {', '.join(keys) or 'not known'})")
    return reported
