# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Summary of the Skupper network, from the hub and from a site. Pure functions on live objects.

The hub's view of others comes from their routers. Deleted links may remain there for a while (Skupper issue 2069).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..apply.readiness import State
from ..base.errors import ClusterError
from ..base.object_names import FLEET_PORT
from ..base.values import integer, text
from ..manifests.skupper import FLEET
from . import link_credentials, state
from .site_plan import active

Object = Mapping[str, Any]


def _summary(site: Object) -> dict[str, Any]:
    found, status = state.site(site), state.status(site)
    return {
        "name": text(site["metadata"]["name"]),
        "uid": state.uid(site),
        "ready": found.ready,
        "trouble": found.why,
        "endpoints": [f"{one.get('host')}:{one.get('port')}" for one in status.get("endpoints") or []],
        "controller": (status.get("controller") or {}).get("version", ""),
    }


def of_hub(sites: Iterable[Object], connectors: Iterable[Object], certificates: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The view of the hub.

    Args:
        sites: Sites of its namespace.
        connectors: its Connectors.
        certificates: public facts of C(rotation_plan.facts).

    Returns:
        C(site) (empty where there is none), C(linked) (name -> whether its link is up, of sites with a link to the hub),
        C(listeners) (names of sites that listen for the SuperLink), C(connector) (C(ready), C(trouble), C(keys)), C(certificates).
    """
    site = active(sites)
    if site is None:
        return {}
    # Ours; without it those of someone else that may be used in its place, see C(site_plan.decide_connector).
    found = list(connectors)
    chosen = [one for one in found if one["metadata"]["name"] == FLEET]
    chosen = chosen or [one for one in found if integer(one["spec"].get("port")) == FLEET_PORT or one["spec"].get("host")]
    keys = sorted({text(one["spec"].get("routingKey")) for one in chosen})
    linked: dict[str, bool] = {}
    listening = []
    for other in state.status(site).get("network") or []:
        name = other.get("name") or other.get("id", "?")
        for link in other.get("links") or []:
            if link.get("remoteSiteId") == state.uid(site):
                linked[name] = linked.get(name, False) or bool(link.get("operational"))
        if any(one.get("routingKey") in keys and one.get("listeners") for one in other.get("services") or []):
            listening.append(name)
    states = [state.connector(one) for one in chosen] or [State(False, "there is no Connector to the SuperLink")]
    best = max(states, key=lambda one: one.ready)
    return {
        "site": _summary(site),
        "linked": dict(sorted(linked.items())),
        "listeners": sorted(listening),
        "connector": {"ready": best.ready, "trouble": best.why, "keys": keys},
        "certificates": list(certificates),
    }


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

    def view(one: Object, found: State, **more: Any) -> dict[str, Any]:
        return {"name": one["metadata"]["name"], "ready": found.ready, "trouble": found.why, **more}

    def linked(link: Object) -> dict[str, Any]:
        found, status = state.link(link, own_site=site), state.status(link)
        name, end = text((link.get("spec") or {}).get("tlsCredentials")), ""
        try:
            end = link_credentials.describe((secrets.get(name) or {}).get("tls.crt", "")).get("not_after", "")
        except (ClusterError, ValueError):
            found = State(False, "; ".join(filter(None, [found.why, f"the certificate in Secret {name} cannot be read, and so not its end"])))
        return view(link, found, remote=status.get("remoteSiteName", ""), remote_uid=status.get("remoteSiteId", ""), not_after=end)

    return {
        "site": _summary(site),
        "links": [linked(link) for link in links],
        "listeners": [
            view(
                one,
                state.listener(one, services.get(one["spec"].get("host"))),
                key=text(one["spec"].get("routingKey")),
                address=f"{one['spec'].get('host')}:{one['spec'].get('port')}",
            )
            for one in listeners
        ],
    }


def problems(hub_name: str, hub: Mapping[str, Any], sites: Mapping[str, Mapping[str, Any]], now: Any, within: Any) -> list[str]:
    """Sentences on what is wrong with the network.

    Args:
        hub_name: inventory name of the hub.
        hub: the result of C(of_hub).
        sites: inventory name -> the result of C(of_site), of the checked sites that are reached through Skupper.
        within: how early an expiry is reported.
    """
    if not hub:
        return [f"hub {hub_name}: there is no Skupper site, and {', '.join(sites)} would be reached through it"] if sites else []
    found = [] if hub["site"]["ready"] else [f"Skupper site {hub['site']['name']} is not ready: {hub['site']['trouble']}"]
    if not hub["connector"]["ready"]:
        found.append(f"the Connector to the SuperLink is not ready: {hub['connector']['trouble']}")
    found += link_credentials.ending(hub["certificates"], now, within)
    reported = [f"hub {hub_name}: {sentence}" for sentence in found]
    for name, site in sites.items():
        reported += [f"{name}: {sentence}" for sentence in _site_problems(site, hub, now, within)]
    ours = {(site.get("site") or {}).get("name") for site in sites.values()}
    strangers = [name for name, up in hub["linked"].items() if up and name not in ours]
    return reported + [f"{name} is linked to the hub through Skupper, but is not one of the checked sites" for name in strangers]


def _site_problems(site: Mapping[str, Any], hub: Mapping[str, Any], now: Any, within: Any) -> Iterator[str]:
    if not site:
        yield "there is no Skupper site"
        return
    if not site["site"]["ready"]:
        yield f"Skupper site {site['site']['name']} is not ready: {site['site']['trouble']}"
    good = [link for link in site["links"] if link["ready"] and link["remote_uid"] == hub["site"]["uid"]]
    if not good:
        why = "; ".join(f"{link['name']}: {link['trouble'] or 'it leads elsewhere'}" for link in site["links"])
        yield f"it is not linked to the hub: {why or 'it has no Link'}"
    # Links and Listeners that others have in this namespace are not the federation's.
    yield from link_credentials.ending([{"what": f"the certificate of its link {link['name']}", **link} for link in good or site["links"]], now, within)
    keys = hub["connector"]["keys"]
    own = [one for one in site["listeners"] if one["key"] in keys] if keys else site["listeners"]
    yield from (f"Listener {one['name']} ({one['address']}): {one['trouble']}" for one in own if not one["ready"])
    if not own:
        yield f"it has no Listener for the SuperLink (routing key {', '.join(keys) or 'not known'})"
