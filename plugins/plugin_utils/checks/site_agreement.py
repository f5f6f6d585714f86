# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a site and the hub must agree on: clocks, the gateway's CA, a namespace that they share; and what types a node config has. Pure.

Source of the rules on clocks: flwr 1.41 takes a SuperNode's signed request from 5 s before to 305 s after its own time
(superlink/routers/fleet/node_auth.py); certificates that are issued here are dated back by 5 minutes (pki.py). What is measured is the clock of
an API server (C(Cluster.skew)), good to a second; the nodes of its cluster should have the same.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..base.problems import Problem, warning
from ..manifests import common_objects
from ..marks.proof import labels_of
from ..pki import chain
from ..spec.site_spec import PoolSpec, SiteSpec

_WARN = 30.0  # seconds, as the others
_AHEAD_WARN, _AHEAD_FAIL, _BEHIND_FAIL = 6.0, 30.0, 300.0


def _difference(ahead: float, other: str) -> str:
    return f"its clock is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} the {other}'s"


def clocks(skew: float | None, hub: float | None, *, signed: bool) -> Iterator[Problem]:
    """What is wrong with a site's clock.

    Args:
        skew: seconds by which the site's clock is ahead of the control node's, None when it is not known.
        hub: the same of the hub; None when it was not checked.
        signed: whether SuperNodes sign their requests with the time (not with C(flower_insecure)).
    """
    if skew is None:
        return
    ahead = skew - (hub or 0.0)
    word = _difference(ahead, "control node" if hub is None else "hub")
    is_judged = signed and hub is not None
    if is_judged and ahead > _AHEAD_FAIL:
        yield Problem(f"{word}; Flower refuses what a SuperNode signs more than 5 s ahead of the hub. Set the clocks")
    elif is_judged and ahead < -_BEHIND_FAIL:
        yield Problem(f"{word}; Flower refuses what a SuperNode signed more than 305 s ago by the hub's clock. Set the clocks")
    elif is_judged and ahead > _AHEAD_WARN:
        yield warning(f"{word}; Flower refuses what a SuperNode signs more than 5 s ahead of the hub")
    elif abs(ahead) > _WARN:
        yield warning(word)


def hub_clock(skew: float | None) -> Iterator[Problem]:
    """Whether the hub's clock is the control node's."""
    if skew is not None and abs(skew) > _WARN:
        yield warning(_difference(skew, "control node"))


def validity(certificate: Mapping[str, str], skew: float | None, now: datetime.datetime) -> Iterator[Problem]:
    """Why the gateway's certificate is not valid by a site's clock. One that begins within the next two seconds is.

    Args:
        certificate: C(not_before) and C(not_after), ISO 8601; may be empty.
        skew: seconds by which the site's clock is ahead of the control node's.
        now: the control node's time.
    """
    if not certificate or skew is None:
        return
    there = now + datetime.timedelta(seconds=skew)
    start, end = (datetime.datetime.fromisoformat(certificate[key]) for key in ("not_before", "not_after"))
    shown = f"{there.replace(microsecond=0).isoformat()} by its clock ({_difference(skew, 'control node')})"
    if there < start - chain.CLOCK_ACCURACY:
        yield Problem(f"the gateway's certificate is not valid before {start.isoformat()}, and it is {shown}; set the clock")
    elif there > end:
        yield Problem(f"the gateway's certificate expires on {end.isoformat()}, and it is {shown}; set the clock, or renew it")


def trust(spec: SiteSpec, served: str) -> Iterator[Problem]:
    """Whether the SuperNodes of a site that trusts a CA bundle of its variables would refuse the gateway's certificate.

    Args:
        spec: the site, as its variables have it. Without client certificates it may trust something in front of the gateway.
        served: the certificate that the gateway is going to serve, with its chain, PEM; empty if it is not known.
    """
    if not spec.ca_bundle or not spec.shows_certificate or not served:
        return
    try:
        chain.path(chain.read(served), chain.read(spec.ca_bundle))
    except chain.ChainError as error:
        yield warning(
            f"with supernode_ca_bundle, its SuperNodes refuse the certificate that the gateway is going to serve: its chain {error}. Add the root, "
            "or remove the variable: the site then trusts what the hub publishes"
        )


def wants_level(spec: SiteSpec) -> bool:
    """Whether the site's variables set a Pod Security level, or that there is none, instead of leaving it to the collection."""
    return spec.pod_security != common_objects.AUTO and bool(common_objects.namespace_objects(spec))


def shared_namespace(spec: SiteSpec, live: Mapping[str, Any], planned: str | None) -> Iterator[Problem]:
    """Whether a level that a site sets in the hub's namespace is the hub's, which alone decides it.

    Args:
        spec: the site, for which C(wants_level) is true.
        live: the Namespace that it shares with the hub.
        planned: the level that the hub is going to set, empty for none; None if it is not known, or someone else sets it.
    """
    wanted = common_objects.security_levels(spec).get("enforce", "")
    enforced = labels_of(live).get(common_objects.ENFORCE, "") if planned is None else planned
    if wanted != enforced:
        yield Problem(
            f'supernode_pod_security: "{wanted}" has no effect: namespace {spec.namespace} is the hub\'s, too, which sets its level '
            f'("{enforced}"). Set superlink_pod_security (flower_pod_security) for the hub, or another supernode_namespace for this site'
        )


_TYPED = re.compile(r"[+-]?(0|[1-9][0-9]*)|true|false")  # what becomes an integer or a boolean
_SEEMS = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")  # a number that stays text, such as 1e-4, which YAML reads as text


def config_types(pools: Iterable[PoolSpec]) -> Iterator[Problem]:
    """Text of a node config whose type is another one than it seems to have, with the form that forces the type; never a value."""
    for pool in pools:
        texts = {str(key): value.strip() for key, value in pool.node_config.items() if isinstance(value, str)}
        typed = [key for key, value in texts.items() if _TYPED.fullmatch(value)]
        kept = [key for key, value in texts.items() if _SEEMS.fullmatch(value) and key not in typed]
        parts = [f"the text of {', '.join(typed)} becomes a number or a boolean (to keep text: {{string: TEXT}})"] if typed else []
        parts += [f"{', '.join(kept)} stays text, though it looks like a number (for a number: without quotes, with a point, as 1.0e-4)"] if kept else []
        if parts:
            yield warning(f"node_config of pool {pool.name}: {'; '.join(parts)}")
