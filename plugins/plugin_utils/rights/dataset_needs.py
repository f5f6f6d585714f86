# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rights for the datasets of a site, each on the objects that its specification names. Pure.

A C(create) that is limited to a name works with server-side apply, see table.py. Secrets and ConfigMaps of datasets need nothing
more than the table grants: where the controller has no right on Secrets, it cannot know whether one exists.
"""

from __future__ import annotations

from ..manifests import datasets
from ..spec.deployed_spec import Spec
from ..spec.site_spec import SiteSpec
from .need import CLUSTER, FEDERATION, TEARDOWN, Need
from .table import AUDITOR, CONTROLLER, READ

_CLAIMS, _VOLUMES = "persistentvolumeclaims", "persistentvolumes"


def needs(holder: str, spec: Spec) -> list[Need]:
    """What a holder needs for datasets; nothing where there are none."""
    if not isinstance(spec, SiteSpec):
        return []
    listed = [one for pool in spec.pools for one in pool.datasets if one.claim_name]
    if not listed:
        return []
    if holder == AUDITOR:
        return [Need(FEDERATION, _CLAIMS, READ, "where data is")]
    if holder != CONTROLLER:
        return []
    made = datasets.created(spec)
    claims = " ".join(sorted({one.claim_name for one in made}))
    existing = " ".join(sorted({one.claim for one in listed if one.claim}))
    volumes = " ".join(datasets.volume_name(spec, one) for one in made if one.volume is not None)
    found = []
    if existing:
        found.append(Need(FEDERATION, _CLAIMS, "get", "see whether the claims of datasets can be used", names=existing))
    if claims:
        found += [
            Need(FEDERATION, _CLAIMS, "get create patch", "claims of datasets", names=claims),
            Need(FEDERATION, _CLAIMS, "list", "find them, if they are to be deleted", work=TEARDOWN),
            # Not on all claims of the namespace: others have their data there.
            Need(FEDERATION, _CLAIMS, "get delete", "delete them, if that is requested", names=claims, work=TEARDOWN),
        ]
    if volumes:
        found += [
            Need(CLUSTER, _VOLUMES, "get create patch", "storage that exists outside the cluster", names=volumes),
            Need(CLUSTER, _VOLUMES, "list", "find them, if they are to be deleted", work=TEARDOWN),
            Need(CLUSTER, _VOLUMES, "get delete", "delete them, if that is requested", names=volumes, work=TEARDOWN),
        ]
    return found
