# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of a site out of its variables, as a rollout makes them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.role_options import role_options, variable_faults
from ansible_collections.federated.flower.plugins.plugin_utils.base.plain_data import to_json_data
from ansible_collections.federated.flower.plugins.plugin_utils.base.problems import Problem, messages, require
from ansible_collections.federated.flower.plugins.plugin_utils.checks.acm_rules import (
    metrics_policy_problems,
    policy_problems,
)
from ansible_collections.federated.flower.plugins.plugin_utils.checks.hub_rules import hub_problems
from ansible_collections.federated.flower.plugins.plugin_utils.checks.ocm_rules import addon_problems
from ansible_collections.federated.flower.plugins.plugin_utils.checks.site_rules import render_problems, site_problems
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import superlink, supernode
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import acm_policies, addon_objects
from ansible_collections.federated.flower.plugins.plugin_utils.spec.hub_spec import AddonSpec, HubSpec
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec

#: A CA, valid until 2099, for variables that take one.
CA = """\
-----BEGIN CERTIFICATE-----
MIIBIzCByqADAgECAgEBMAoGCCqGSM49BAMCMBAxDjAMBgNVBAMMBXRlc3RzMCAX
DTIwMDEwMTAwMDAwMFoYDzIwOTkwMTAxMDAwMDAwWjAQMQ4wDAYDVQQDDAV0ZXN0
czBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIrgGP8VerUak0+hx0m3H7xMNs8L
jDXEezlDbvW5uZSZM9lv6MGm5GvH+bv+1BEcA3Q63Yk+hkVlGCVGyyxLA7WjEzAR
MA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIgLSf7hVFV3j5l4Yxa
/HERIRL4vJRZzjImB660JbQvzaQCIQDEBmeNms/JyCKmIcerdnuH/XLvgykXBxyR
C4hOB0VJ2A==
-----END CERTIFICATE-----
"""
#: Another one.
OTHER_CA = """\
-----BEGIN CERTIFICATE-----
MIIBIzCByqADAgECAgECMAoGCCqGSM49BAMCMBAxDjAMBgNVBAMMBW90aGVyMCAX
DTIwMDEwMTAwMDAwMFoYDzIwOTkwMTAxMDAwMDAwWjAQMQ4wDAYDVQQDDAVvdGhl
cjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABCHO0N6O902Scub4jYUUGQO1P1Yy
q1VtUxueNClOU9mt7WfjzXs4svjiMa6qHi49KR7kq4EnG/hI0QoKmmQgxpejEzAR
MA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIhAJu9rhORxCRysN8j
mgVEL9fd0w174mT/W0qb3tHt39ciAiAJAJ5Aeii6bXQxQgJK/FLvVpw509wus7ig
l4VME3+aew==
-----END CERTIFICATE-----
"""


def _refused(role: str, given: Mapping[str, Any]) -> list[str]:
    """Messages that a user gets for the variables of a role: their types are checked by its argument specification, then all else."""
    keys = {name: name if name == "superlink_address" else name.removeprefix(f"{role}_") for name in role_options(role)}
    values = {name: given[key] for name, key in keys.items() if key in given and key != "tracking_credentials" and given[key] is not None}
    wrong = variable_faults(values.__getitem__, values, (role,))
    return [f"{given['cluster']}: {one}" for one in wrong] or messages((hub_problems if role == "superlink" else site_problems)(to_json_data(given)))


def superlink_faults(given: Mapping[str, Any]) -> list[str]:
    """Why a hub is refused."""
    return _refused("superlink", given)


def supernode_faults(given: Mapping[str, Any]) -> list[str]:
    """Why a site is refused."""
    return _refused("supernode", given)


def superlink_objects(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All objects of a hub."""
    require(hub_problems(to_json_data(given)))
    return superlink.objects(HubSpec.parse(to_json_data(given)))


def superlink_front_objects(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Namespace, Services, Ingress or Route of a hub."""
    return superlink.front_objects(HubSpec.parse(given))


def ocm_addon_objects(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All objects of an add-on."""
    require(addon_problems(given))
    return addon_objects.addon_objects(AddonSpec.parse(given))


def ocm_policy_objects(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The security baseline as a policy of ACM."""
    require(policy_problems(given))
    return acm_policies.baseline_objects(AddonSpec.parse(given))


def ocm_metrics_policy_objects(given: Mapping[str, Any], settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What ACM needs to observe a federation."""
    require(hub_problems(given) + metrics_policy_problems(given, settings, acm_policies.metrics_policy_name(given["federation"])))
    hub = HubSpec.parse(given)
    return acm_policies.metrics_objects(hub, superlink.objects(hub.complete()), settings["remediation"], settings["labels"])


def site_of(given: Mapping[str, Any] | SiteSpec) -> SiteSpec:
    """A site without faults."""
    if isinstance(given, SiteSpec):
        return given
    require(site_problems(to_json_data(given)))
    return SiteSpec.parse(to_json_data(given))


def supernode_objects(given: Mapping[str, Any] | SiteSpec) -> list[dict[str, Any]]:
    """All objects of a site."""
    spec = site_of(given)
    require(render_problems(spec))
    return supernode.objects(spec)


def clientapp_objects(given: Mapping[str, Any] | SiteSpec) -> list[dict[str, Any]]:
    """A site's ClientApps, where they are a workload of their own; else none."""
    return supernode.clientapps(site_of(given))


#: Variables whose entries add up, so that their order has no meaning. That of others has: arguments, variables that refer to others, mounts
#: in mounts, init containers, patches; and Kubernetes restarts pods when that of their volumes or tolerations changes.
UNORDERED = frozenset((
    "pools", "datasets", "dns", "monitoring_namespaces", "superlink_cidrs", "egress", "api_server", "allowed_sources", "serverapp_egress",
    "load_balancer_source_ranges", "certificate_names",
))  # fmt: skip


def shuffled(value: Any, seed: int) -> Any:
    """The same value; the entries of all mappings in it have another order, and those of lists whose order has no meaning."""
    chance = random.Random(seed)

    def turn(one: Any, name: str = "") -> Any:
        if isinstance(one, Mapping):
            return {key: turn(one[key], str(key)) for key in chance.sample(list(one), len(one))}
        if not isinstance(one, (list, tuple)):
            return one
        listed = [turn(entry) for entry in one]
        return chance.sample(listed, len(listed)) if name in UNORDERED else listed

    return turn(value)


def written(objects: list[dict[str, Any]]) -> str:
    """Objects as text; the order of entries of a mapping has no meaning in Kubernetes."""
    return json.dumps(objects, sort_keys=True)


def drafted(spec: HubSpec | SiteSpec) -> list[dict[str, Any]]:
    """All objects of a part, with stand-ins for what is found later: address, certificates, numbers."""
    return supernode.objects(spec.complete()) if isinstance(spec, SiteSpec) else superlink.objects(spec.complete())


def said(found: Iterable[Problem]) -> tuple[str, str]:
    """Messages of problems that refuse, and those of warnings, one a line."""
    listed = list(found)
    return "\n".join(messages(one for one in listed if one.refuses)), "\n".join(messages(one for one in listed if not one.refuses))
