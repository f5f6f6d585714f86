# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What to do about the Site of a namespace. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..base.values import text
from ..spec.network_spec import NO_ACCESS, NetworkSiteSpec
from . import ends, state
from .ownership import is_ours, owners, split

Object = Mapping[str, Any]


@dataclass(frozen=True)
class Plan:
    """What to do.

    Attributes:
        adopted: a Site that someone else created, and that is used as it is.
        former: Sites of ours with another name, which must be gone before the new one is created.
        leaving: Sites that are being deleted, which must be waited for.
        fault: why nothing can be done, a sentence without its full stop.
        warnings: sentences.
    """

    adopted: Object | None = None
    former: tuple[Object, ...] = ()
    leaving: tuple[Object, ...] = ()
    fault: str = ""
    warnings: tuple[str, ...] = ()


def active(found: Iterable[Object]) -> Object | None:
    """The Site that Skupper serves; of several the one that is not refused as a second one."""
    candidates = [site for site in found if not site["metadata"].get("deletionTimestamp")]
    good = [site for site in candidates if state.SECOND_SITE not in state.said(site, "Configured")]
    return next(iter(good or candidates), None)


def of_hub(spec: NetworkSiteSpec, found: Iterable[Object]) -> NetworkSiteSpec:
    """The spec of a hub without C(name), with the name of the Site that it has: by default it is that of the host, which may be called differently in
    another inventory. A Site of another name would have another CA, and every site would lose its link. Other specs are as they were."""
    ours = [site for site in split(found)[0] if not site["metadata"].get("deletionTimestamp")]
    keeps = spec.hub and not spec.name and len(ours) == 1 and state.has_link_access(ours[0])
    return replace(spec, name=ours[0]["metadata"]["name"]) if keeps else spec


def has_own(spec: NetworkSiteSpec, found: Iterable[Object]) -> bool:
    """Whether there is a Site of ours with the name of this spec's."""
    return any(is_ours(site) and site["metadata"]["name"] == spec.site_name for site in found)


def decide(spec: NetworkSiteSpec, found: Iterable[Object], end: str = "") -> Plan:
    """What to do about the Sites of the namespace.

    Args:
        found: all Sites there, live.
        end: whose the namespace is, see C(ends.of). A Site of the other end is never replaced.
    """
    fault = ends.fault(spec.namespace, end, hub=spec.hub)
    if fault:
        return Plan(fault=fault)
    leaving = tuple(site for site in found if site["metadata"].get("deletionTimestamp"))
    ours, theirs = split(site for site in found if not site["metadata"].get("deletionTimestamp"))
    if len(theirs) > 1 or (ours and theirs):
        return Plan(leaving=leaving, fault=_several([*ours, *theirs]))
    if theirs:
        return _adopt(spec, theirs[0], leaving)
    wanted = spec.site_name
    former = tuple(site for site in ours if site["metadata"]["name"] != wanted)
    warnings = tuple(
        f"{state.named(site)} is replaced by a Site named {wanted}: its links are recreated" for site in former
    )
    return Plan(former=former, leaving=leaving, warnings=warnings)


def _several(found: list[Object]) -> str:
    served = active(found)
    reported = ", ".join(
        f"{site['metadata']['name']} ({'ours' if is_ours(site) else 'created by someone else'}"
        f"{', the one that Skupper serves' if site is served else ''})"
        for site in found
    )
    namespace = found[0]["metadata"]["namespace"]
    return (
        f"namespace {namespace} has {len(found)} Sites: {reported}. Skupper serves one for a namespace. Delete those that are not "
        f"wanted (kubectl -n {namespace} delete site NAME)"
    )


def _adopt(spec: NetworkSiteSpec, site: Object, leaving: tuple[Object, ...]) -> Plan:
    name, namespace = site["metadata"]["name"], site["metadata"]["namespace"]
    access = text((site.get("spec") or {}).get("linkAccess"))
    if spec.has_access and access in NO_ACCESS and not state.status(site).get("endpoints"):
        patch = f'{{"spec":{{"linkAccess":"{spec.link_access}"}}}}'
        return Plan(
            leaving=leaving,
            fault=f"{state.named(site)} was created by someone else and lets no other site link to it. Its owner may open it "
            f"(kubectl -n {namespace} patch site {name} --type merge -p '{patch}'), or delete it, and this role creates its own",
        )
    return Plan(
        adopted=site,
        leaving=leaving,
        warnings=(
            f"{state.named(site)} was created by someone else: it is used as it is, and never changed or deleted",
        ),
    )


def dependents(site_uid: str, objects: Iterable[Object]) -> list[str]:
    """What Skupper created for a Site and Kubernetes has not deleted yet, for people.

    A Site that is recreated before its predecessor's router configuration is gone fails because of it.
    """
    return [state.named(obj) for obj in objects if site_uid in owners(obj, "Site")]
