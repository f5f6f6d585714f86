# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which Federation a site's variables name. Pure."""

from __future__ import annotations

from typing import Any

from ..base.errors import ClusterError
from ..base.problems import require
from ..validate.value_checks import Problems

NAMESPACE, FEDERATION = "flower_takeover_namespace", "flower_takeover_federation"
_UNSET = (None, "")


def federation(namespace: Any, name: Any, default: str) -> tuple[str, str] | None:
    """Namespace and name of a site's Federation; None for a site without one.

    Args:
        namespace: value of C(NAMESPACE).
        name: value of C(FEDERATION).
        default: its name where the variable has none.

    Raises:
        ClusterError: one of them is not a name, or only the second is set.
    """
    if namespace in _UNSET:
        if name in _UNSET:
            return None
        raise ClusterError(f"{FEDERATION} is {name!r}, and {NAMESPACE} is not set: set it to the namespace of that Federation.")
    found = Problems({}, "")
    found.label(NAMESPACE, namespace)
    if name not in _UNSET:
        found.subdomain(FEDERATION, name)
    require(found.found)
    return str(namespace), str(name or default)
