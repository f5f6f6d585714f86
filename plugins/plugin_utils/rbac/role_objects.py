# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Roles, bindings and accounts of a cluster as objects. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..base.object_names import SUPERLINK, SUPERNODE
from ..base.problems import require
from ..base.values import Object, boolean
from ..manifests import key_job
from ..manifests import namespace as namespace_manifests
from ..manifests.objects import metadata
from ..marks import parts
from ..rights.grants import grants, namespaces
from ..rights.need import WORKS, Need
from ..rights.rules import policy_rules
from ..rights.table import AUDITOR, BACKUP, CONTROLLER, SCIENTIST
from ..spec.deployed_spec import Spec
from ..spec.hub_spec import HubSpec
from ..spec.part_spec import PartSpec
from ..spec.site_spec import SiteSpec
from ..validate.hub_rules import hub_problems
from ..validate.site_rules import site_problems
from .subjects import Subject, subject_problems, subjects

PURPOSES = "federated.flower/purposes"
_API = "rbac.authorization.k8s.io"
# In the names of Roles, since a cluster may be hub and site, in one namespace.
_WORD = {SUPERLINK: parts.HUB, SUPERNODE: parts.SITE}


def rights_objects(part: str, given: Mapping[str, Any], settings: Mapping[str, Any]) -> list[Object]:
    """What a cluster's administrators apply, in the order in which it can be applied.

    Namespaces that the playbooks would create are part of it: a Role needs its namespace. They are created exactly as the
    playbooks render them, so that nothing changes later. ServiceAccounts are created in these namespaces only.

    Args:
        part: what is deployed there, C(superlink) or C(supernode).
        given: variables of its specification.
        settings: the playbook's variables, see C(subjects.subject_problems).

    Raises:
        ClusterError: the specification or the variables have faults.
    """
    # The hub's own variables do not define how sites are reached.
    ways = ("skupper", "ocm", "clientapps", "enable_gates")
    given = {**given, **{way: part == SUPERLINK and boolean(settings.get(way)) for way in ways}}
    require((hub_problems if part == SUPERLINK else site_problems)(given) + subject_problems(given, settings))
    spec: Spec = HubSpec.parse(given) if part == SUPERLINK else SiteSpec.parse(given)
    ca_namespace = settings.get("ca_namespace", "")
    own = namespaces(part, spec, ca_namespace)
    # On the hub, accounts are in the namespace of the CA keys: who can create pods in the SuperLink's namespace could use them.
    home = ca_namespace if part == SUPERLINK else spec.namespace
    accounts: list[Object] = []
    roles: list[Object] = []
    job: list[Object] = []
    if isinstance(spec, SiteSpec) and spec.makes_keys:
        # Who applies this can grant rights on Secrets, so that the controller needs none.
        spec = replace(spec, keys_account=True)
        job = key_job.given_access(spec, key_job.secret_names(pool.name for pool in spec.pools))
    for holder in (CONTROLLER, SCIENTIST, AUDITOR, *([BACKUP] if part == SUPERLINK else [])):
        who = subjects(settings, holder, home)
        granted = grants(holder, part, spec, ca_namespace, ways=settings.get("scientist_ways", []))
        works = settings.get("works") or WORKS if holder == CONTROLLER else WORKS
        chosen = {namespace: [need for need in needs if need.work in works] for namespace, needs in granted.items()}
        if not who or not any(chosen.values()):
            continue
        accounts += [_account(part, spec, one) for one in who if one.namespace in own]
        for namespace, needs in chosen.items():
            if needs:
                roles += _role(spec, f"flower-{_WORD[part]}-{holder}", namespace, needs, who)
    made = [item for name in own for item in namespace_manifests.objects(spec.beside(name))]
    unique = {(item["metadata"]["namespace"], item["metadata"]["name"]): item for item in accounts}
    return [*made, *unique.values(), *roles, *job]


def beside(objects: Sequence[Object], others: Sequence[Object]) -> list[Object]:
    """The rights of a site without those objects that the hub in the same cluster has as well, such as a common namespace. Pure."""
    there = {_id(item) for item in others}
    return [item for item in objects if _id(item) not in there]


def _id(item: Object) -> tuple[str, str, str]:
    return item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]


def _metadata(spec: PartSpec, name: str, namespace: str, **annotations: str) -> Object:
    # Not the version: what administrators once approved does not change with a release of Flower.
    made = metadata(
        replace(spec, namespace=namespace),
        name,
        "flower",
        "rights",
        annotations=annotations,
        namespaced=bool(namespace),
    )
    made["labels"].pop("app.kubernetes.io/version")
    return made


def _account(part: str, spec: PartSpec, subject: Subject) -> Object:
    # Hub and site may share a namespace, and with it the set of all rights. Names of Roles identify their part; these do not. An account
    # whose namespace is given may be of both.
    meta = _metadata(spec, subject.name, subject.namespace)
    if not subject.is_placed:
        meta["labels"] = dict(sorted({**meta["labels"], parts.PART: _WORD[part]}.items()))
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta, "automountServiceAccountToken": False}


def _role(spec: PartSpec, name: str, namespace: str, needs: Sequence[Need], who: Sequence[Subject]) -> list[Object]:
    scope = "" if namespace else "Cluster"
    name = name if namespace else f"{name}-{spec.namespace}"
    return [
        {
            "apiVersion": f"{_API}/v1",
            "kind": f"{scope}Role",
            "metadata": _metadata(spec, name, namespace, **{PURPOSES: _purposes(needs)}),
            "rules": policy_rules(needs, namespace),
        },
        {
            "apiVersion": f"{_API}/v1",
            "kind": f"{scope}RoleBinding",
            "metadata": _metadata(spec, name, namespace),
            "roleRef": {"apiGroup": _API, "kind": f"{scope}Role", "name": name},
            "subjects": [subject.as_object() for subject in who],
        },
    ]


def _purposes(needs: Sequence[Need]) -> str:
    """One line for each resource."""
    reported: dict[str, dict[str, None]] = {}
    for need in needs:
        reported.setdefault(need.resource, {})[need.purpose] = None
    return "".join(f"{resource}: {'; '.join(purposes)}\n" for resource, purposes in sorted(reported.items()))
