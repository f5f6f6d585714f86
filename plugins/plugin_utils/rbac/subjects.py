# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who gets the rights: the variables of playbooks/rbac.yml, checked. Pure.

Source: Kubernetes API reference, Subject (rbac.authorization.k8s.io/v1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..base.problems import Problem
from ..base.values import text
from ..rights.need import WORKS
from ..rights.table import AUDITOR, BACKUP, CONTROLLER, SCIENTIST, WAYS
from ..validate.value_checks import Check, Problems, choice, each

KINDS = ("ServiceAccount", "User", "Group")
_SETTINGS: Mapping[str, Check] = {"scientist_ways": each(choice(*WAYS)), "works": each(choice(*WORKS)), "state": choice("present", "absent")}
# Holder -> the variable that names its subjects, without its prefix flower_rbac_.
VARIABLES = {CONTROLLER: "controller", SCIENTIST: "scientists", AUDITOR: "auditors", BACKUP: "backup"}
# All users, or all users with a token: they are never meant to be administrators of a federation. system:masters may do
# everything already.
_EVERYBODY = (
    "system:anonymous",
    "system:authenticated",
    "system:masters",
    "system:serviceaccounts",
    "system:unauthenticated",
)


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
    """What is wrong with the variables.

    Args:
        spec: the part's specification, for the cluster's name.
        settings: C(controller), C(scientists), C(auditors), C(backup) (a subject or a list of them), C(scientist_ways), C(state),
            C(works) (the controller's tasks; all if not set), C(skupper) (whether sites reach the hub through Skupper) and,
            for the superlink, C(ca_namespace).
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
        found.add("scientist_ways", settings.get("scientist_ways"), f"leaves scientists no access; select from {', '.join(WAYS)}")
    return found.found


def subjects(settings: Mapping[str, Any], holder: str, namespace: str) -> list[Subject]:
    """The subjects of a holder.

    Args:
        settings: as in C(subject_problems), without problems.
        holder: C(controller), C(scientist), C(auditor) or C(backup).
        namespace: of ServiceAccounts without one.
    """
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
            found.add(f"{at}.namespace", entry["namespace"], f"means nothing for a {entry['kind']}")
