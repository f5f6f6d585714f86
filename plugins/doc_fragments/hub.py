# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Location of the ledger and the SuperLink of a federation."""

    DOCUMENTATION = r"""
options:
  hub:
    description: Inventory name of the hub. The variables C(flower_auth), C(flower_kubeconfig) and C(flower_context) of that host select its cluster.
    type: str
    required: true
  hub_namespace:
    description: Namespace of the SuperLink in the hub's cluster. Defaults to the variable C(superlink_namespace) or C(flower_namespace) of the hub, else
      V(flower).
    type: str
  federation:
    description: Name of the federation. Defaults to the variable C(superlink_federation) or C(flower_federation) of the hub, else V(flower).
    type: str
"""

    BY_GROUP = r"""
options:
  hub:
    description: Inventory name of the hub. Defaults to the first host of the group in the variable C(flower_hub_group), which defaults to C(flower_hub).
    type: str
  hub_namespace:
    description: Namespace of the SuperLink in the hub's cluster. Defaults to the variable C(superlink_namespace) or C(flower_namespace) of the hub, else
      V(flower).
    type: str
"""

    WAIT = r"""
options:
  wait_timeout:
    description: Seconds to wait for the SuperLink or the SuperNodes.
    type: int
    default: 300
"""

    NAME = r"""
options:
  hub:
    description: Inventory name of the hub.
    type: str
    required: true
"""

    NAMESPACE = r"""
options:
  namespace:
    description: Namespace of the SuperLink. Defaults to the variable C(superlink_namespace) or C(flower_namespace) of the hub, else V(flower).
    type: str
"""

    FEDERATION = r"""
options:
  federation:
    description: Name of the federation. Defaults to the variable C(superlink_federation) or C(flower_federation) of the hub, else V(flower).
    type: str
"""

    COPIED = r"""
options:
  spec:
    description: The specification of this host's SuperLink, as assembled by the role C(federated.flower.superlink).
    type: dict
    required: true
  accept_volumes:
    description: Whether the hub may use another volume claim for its database than at the last copy, or than when it began to serve. By default, such a hub
      is not copied, because its volume may be empty.
    type: bool
    default: false
  wait_timeout:
    description: Seconds to wait for pods to start and terminate.
    type: int
    default: 300
"""
