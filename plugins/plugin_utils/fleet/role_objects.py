# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Roles, bindings and subjects that people who run this collection need, as objects. Pure.

Source: Kubernetes API reference, Subject (rbac.authorization.k8s.io/v1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..base.object_names import SUPERLINK, SUPERNODE
from ..base.problems import Problem, require
from ..base.values import Object, boolean, text
from ..checks.hub_rules import hub_problems
from ..checks.site_rules import site_problems
from ..checks.value_checks import Check, Problems, choice, each
from ..manifests import common_objects as namespace_manifests
from ..manifests import site_jobs
from ..manifests.common_objects import metadata
from ..marks import owners
from ..rights.grants import grants, namespaces
from ..rights.need import SCHEDULE, WORKS, Need, policy_rules
from ..rights.table import AUDITOR, BACKUP, CONTROLLER, POD_ACCESS, SCIENTIST
from ..spec.deployed_spec import Spec
from ..spec.hub_spec import HubSpec
from ..spec.part_spec import PartSpec
from ..spec.site_spec import SiteSpec

KINDS = ("ServiceAccount", "User", "Group")
_SETTINGS: Mapping[str, Check] = {"scientist_ways": each(choice(*POD_ACCESS)), "works": each(choice(*WORKS, SCHEDULE)), "state": choice("present", "absent")}
# Holder -> the variable that names its subjects, without its prefix flower_rbac_.
VARIABLES = {CONTROLLER: "controller", SCIENTIST: "scientists", AUDITOR: "auditors", BACKUP: "backup"}
# All users, or all users with a token: they are never meant to be administrators of a federation. system:masters may do
# everything already.
_EVERYBODY = ("system:anonymous", "system:authenticated", "system:masters", "system:serviceaccounts", "system:unauthenticated")

PURPOSES = "federated.flower/purposes"
_API = "rbac.authorization.k8s.io"
# In the names of Roles, since a cluster may be hub and site, in one namespace.
_WORD = {SUPERLINK: owners.PART_HUB, SUPERNODE: owners.PART_SITE}


@dataclass(frozen=True)
class Subject:
    """A subject that gets rights.

    Attributes:
        namespace: empty but for a ServiceAccount.
        is_placed: whether a variable names this namespace.
    """

    kind: str
    name: str
    namespace: str = ""
    is_placed: bool = field(default=False, compare=False)

    def as_object(self) -> dict[str, str]:
        """The subject of a RoleBinding."""
        if self.kind == "ServiceAccount":
            return {"kind": self.kind, "name": self.name, "namespace": self.namespace}
        return {"apiGroup": "rbac.authorization.k8s.io", "kind": self.kind, "name": self.name}


def subject_problems(spec: Mapping[str, Any], settings: Mapping[str, Any]) -> list[Problem]:
    """What is wrong with the variables, for the cluster of a part's specification.

    Args:
        settings: C(controller), C(scientists), C(auditors), C(backup) (a subject or a list of them), C(scientist_ways), C(state),
            C(works) (the controller's tasks; all if not set), C(skupper) (whether sites reach the hub through Skupper) and,
            for the superlink, C(namespaces).
    """
    found = Problems(spec, "flower_rbac_")
    found.check(_SETTINGS, {"state": "present", **settings})
    for variable in VARIABLES.values():
        entries = settings.get(variable)
        single = isinstance(entries, Mapping)
        if entries and not single and not found.sequence(variable, entries):
            continue
        for number, entry in enumerate(_entries(entries)):
            _subject(found, variable if single else f"{variable}[{number}]", entry)
    if settings.get("scientists") and not settings.get("scientist_ways"):
        found.add("scientist_ways", settings.get("scientist_ways"), f"gives data scientists no access; select from {', '.join(POD_ACCESS)}")
    return found.found


def subjects(settings: Mapping[str, Any], holder: str, namespace: str) -> list[Subject]:
    """The subjects of a holder, from settings without problems. C(namespace): of ServiceAccounts without one."""
    found = []
    for entry in _entries(settings.get(VARIABLES[holder])):
        given = text(entry.get("namespace"))
        own = (given or namespace) if entry["kind"] == "ServiceAccount" else ""
        found.append(Subject(entry["kind"], entry["name"], own, bool(given)))
    return list(dict.fromkeys(found))


def _entries(value: Any) -> list[Any]:
    if not value:
        return []
    return [value] if isinstance(value, Mapping) else list(value)


def _subject(found: Problems, at: str, entry: Any) -> None:
    if not isinstance(entry, Mapping):
        found.add(at, entry, "is not a mapping of kind, name and, for a ServiceAccount, namespace")
        return
    for key in entry:
        if key not in ("kind", "name", "namespace"):
            found.add(f"{at}.{key}", entry[key], "is not one of kind, name, namespace")
    if not found.choice(f"{at}.kind", entry.get("kind"), KINDS):
        return
    account = entry["kind"] == "ServiceAccount"
    if account:
        found.subdomain(f"{at}.name", entry.get("name"))
    elif not isinstance(entry.get("name"), str) or not entry["name"].strip():
        found.add(f"{at}.name", entry.get("name"), "is not a name")
    elif entry["name"] in _EVERYBODY or entry["name"].startswith("system:serviceaccounts:"):
        found.add(f"{at}.name", entry["name"], "includes too many users, or is an administrator already")
    if entry.get("namespace"):
        if account:
            found.label(f"{at}.namespace", entry["namespace"])
        else:
            found.add(f"{at}.namespace", entry["namespace"], f"does not apply to a {entry['kind']}")


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
    features = ("skupper", "ocm", "clientapps", "enable_gates")
    given = {**given, **{name: part == SUPERLINK and boolean(settings.get(name)) for name in features}}
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
        job = site_jobs.given_access(spec, site_jobs.secret_names(pool.name for pool in spec.pools))
    for holder in (CONTROLLER, SCIENTIST, AUDITOR, *([BACKUP] if part == SUPERLINK else [])):
        who = subjects(settings, holder, home)
        granted = grants(holder, part, spec, ca_namespace, pod_access=settings.get("scientist_ways", []))
        works = settings.get("works") or WORKS if holder == CONTROLLER else WORKS
        chosen = {namespace: [need for need in needs if need.work in works] for namespace, needs in granted.items()}
        if not who or not any(chosen.values()):
            continue
        accounts += [_account(part, spec, one) for one in who if one.namespace in own]
        for namespace, needs in chosen.items():
            if needs:
                roles += _role(spec, f"flower-{_WORD[part]}-{holder}", namespace, needs, who)
    spaces = [item for name in own for item in namespace_manifests.namespace_objects(spec.beside(name))]
    unique = {(item["metadata"]["namespace"], item["metadata"]["name"]): item for item in accounts}
    return [*spaces, *unique.values(), *roles, *job]


def beside(objects: Sequence[Object], others: Sequence[Object]) -> list[Object]:
    """The rights of a site without those objects that the hub in the same cluster has as well, such as a common namespace. Pure."""
    there = {_id(item) for item in others}
    return [item for item in objects if _id(item) not in there]


def _id(item: Object) -> tuple[str, str, str]:
    return item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]


def _metadata(spec: PartSpec, name: str, namespace: str, **annotations: str) -> Object:
    # Not the version: what administrators once approved does not change with a release of Flower.
    found = metadata(replace(spec, namespace=namespace), name, "flower", "rights", annotations=annotations, namespaced=bool(namespace))
    found["labels"].pop("app.kubernetes.io/version")
    return found


def _account(part: str, spec: PartSpec, subject: Subject) -> Object:
    # Hub and site may share a namespace, and with it the set of all rights. Names of Roles identify their part; these do not. An account
    # whose namespace is given may be of both.
    meta = _metadata(spec, subject.name, subject.namespace)
    if not subject.is_placed:
        meta["labels"] = dict(sorted({**meta["labels"], owners.PART: _WORD[part]}.items()))
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
