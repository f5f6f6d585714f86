# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rights for the outputs of runs: on their claim, and on the pod that reads it, each by its name. Pure.

Where ServerApps have their own pod, the right to run commands in it also covers the container with the app. It adds nothing to what
data scientists can do: they run their code there by submitting it.
"""

from __future__ import annotations

from ..base.object_names import SERVERAPP_POD
from ..manifests import outputs
from ..spec.deployed_spec import Spec
from ..spec.hub_spec import HubSpec
from .need import FEDERATION, Need
from .table import CONTROLLER, SCIENTIST

_CLAIMS = "persistentvolumeclaims"


def needs(holder: str, spec: Spec) -> list[Need]:
    """What a holder needs for outputs; nothing where they are not kept."""
    if not isinstance(spec, HubSpec) or not spec.outputs_enabled or holder not in (CONTROLLER, SCIENTIST):
        return []
    found = []
    if spec.is_process:  # otherwise it is the SuperLink's pod, see table.py
        found += [
            Need(FEDERATION, "pods", "get", "find the outputs of runs", names=SERVERAPP_POD),
            Need(FEDERATION, "pods/exec", "get create", "list, fetch and delete the outputs of runs", names=SERVERAPP_POD),
        ]
    if holder == CONTROLLER:
        made = not spec.outputs_claim
        verbs = "get create patch" if made else "get"
        purpose = "the volume for the outputs of runs" if made else "see whether the claim for outputs can be used"
        found.append(Need(FEDERATION, _CLAIMS, verbs, purpose, names=outputs.claim_name(spec)))
    return found
