# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Spec -> objects, without Ansible: validate, then render."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.values import Object
from ..manifests import superlink, supernode
from ..ocm import acm, addon_objects
from . import ocm_faults
from . import superlink_faults as hub_faults
from . import supernode_faults as site_faults


class SpecError(ValueError):
    """A spec that can't be rendered. C(faults) holds every reason."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))


def plain(value: Any) -> Any:
    """A copy made of plain dicts, lists, str, int, float, bool and None.

    Templating hands over subclasses of them that carry tags or are filled in when they are read.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Mapping):
        return {str.__str__(str(key)): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    return str.__str__(str(value))


def _checked(faults: list[str]) -> None:
    if faults:
        raise SpecError(faults)


def superlink_objects(spec: Mapping[str, Any]) -> list[Object]:
    """All objects of the hub.

    Raises:
        SpecError: the spec has faults.
    """
    spec = plain(spec)
    _checked(hub_faults.spec_faults(spec))
    return superlink.objects(spec)


def superlink_front_objects(spec: Mapping[str, Any]) -> list[Object]:
    """Namespace, Services, Ingress or Route of the hub.

    Raises:
        SpecError: the spec has faults.
    """
    spec = plain(spec)
    _checked(hub_faults.spec_faults(spec))
    return superlink.front_objects(spec)


def superlink_faults(spec: Mapping[str, Any]) -> list[str]:
    """Everything that is wrong with a superlink spec."""
    return hub_faults.spec_faults(plain(spec))


def supernode_objects(spec: Mapping[str, Any]) -> list[Object]:
    """All objects of a site.

    Raises:
        SpecError: the spec has faults, or address, CA or allocation are not known.
    """
    spec = plain(spec)
    _checked(site_faults.spec_faults(spec) or site_faults.render_faults(spec))
    return supernode.objects(spec)


def clientapp_objects(spec: Mapping[str, Any]) -> list[Object]:
    """A site's ClientApps, where they are a workload of their own; else none.

    Raises:
        SpecError: the spec has faults.
    """
    spec = plain(spec)
    _checked(site_faults.spec_faults(spec))
    return supernode.clientapps(spec)


def supernode_faults(spec: Mapping[str, Any]) -> list[str]:
    """Everything that is wrong with a supernode spec."""
    return site_faults.spec_faults(plain(spec))


def drafted(part: str, spec: Mapping[str, Any]) -> list[Object]:
    """All objects of a role's spec without faults, with stand-ins for what is found later: address, CA, ledger.

    Args:
        part: C(superlink) or C(supernode).
    """
    if part == supernode.NAME:
        return supernode.objects(site_faults.complete(plain(spec)))
    return superlink.objects(hub_faults.complete(plain(spec)))


def faults_of(part: str, spec: Mapping[str, Any]) -> list[str]:
    """Everything that is wrong with the spec of a role.

    Args:
        part: C(superlink) or C(supernode).
    """
    return supernode_faults(spec) if part == supernode.NAME else superlink_faults(spec)


def ocm_addon_objects(spec: Mapping[str, Any]) -> list[Object]:
    """All objects of the add-on on a hub of Open Cluster Management.

    Raises:
        SpecError: the spec has faults.
    """
    spec = plain(spec)
    _checked(ocm_faults.addon_faults(spec))
    return addon_objects.addon_objects(spec)


def ocm_addon_faults(spec: Mapping[str, Any]) -> list[str]:
    """Everything that is wrong with an add-on's spec."""
    return ocm_faults.addon_faults(plain(spec))


def ocm_policy_objects(spec: Mapping[str, Any]) -> list[Object]:
    """The security baseline as a policy of ACM, from an add-on's spec.

    Raises:
        SpecError: the spec has faults.
    """
    spec = plain(spec)
    _checked(ocm_faults.policy_faults(spec))
    return acm.objects(spec)
