# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ManifestWork by which a site creates its keys, and its feedback. Pure.

When idle it has the ConfigMap to which the site's Secrets belong, and reads the ConfigMap with their public keys.
While the site has work to do, the job of C(manifests/site_jobs.py) is in it, with its program and its rights. So rights and
token are in the cluster for as long as that takes. A private key is in neither of them.

A job cannot be changed, so its name is derived from its content. The program's request has the owner of the Secrets by its uid,
which the site reports once the idle ManifestWork was applied there.

Values of a list are reported one at a time (OCM reads the first only), so there is one for each Secret that may be an owner
of the ConfigMap with the public keys: see C(site_keys/public.py) for its content.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..apply.readiness import READY, State
from ..base.names import PUBLIC_KEYS
from ..base.values import Object
from ..manifests import site_jobs
from ..site_keys import public, reported
from ..spec.site_spec import SiteSpec
from . import addon_objects
from . import statuses as works

PART = "keys"

_PUBLIC = ("ConfigMap", PUBLIC_KEYS)
_OWNER = ("ConfigMap", site_jobs.OWNER)
_JOB = {
    "succeeded": ".status.succeeded",
    "failed": '.status.conditions[?(@.type=="Failed")].status',
    "message": '.status.conditions[?(@.type=="Failed")].message',
    "active": ".status.active",
}
_STANDS = "stands-"


def idle_work(spec: SiteSpec, secrets: Iterable[str], owner: Mapping[str, Any] | None, first: Sequence[Object] = ()) -> Object:
    """The ManifestWork of a site that has nothing to do.

    Args:
        secrets: all Secrets that the site may have.
        owner: the live ManagedClusterAddOn.
        first: objects without which nothing else can be there, a Namespace that no template can carry.
    """
    return _work(spec, [], secrets, owner, first)


def keygen_work(
    spec: SiteSpec,
    request: Mapping[str, Any],
    program: Mapping[str, str],
    seconds: int,
    owner: Mapping[str, Any] | None,
    first: Sequence[Object] = (),
) -> Object:
    """The ManifestWork with the job.

    Args:
        request: see C(site_keys/maker.py), complete.
        program: files of the job's program.
        seconds: for the whole job.
        owner: the live ManagedClusterAddOn.
        first: see above.
    """
    draft = site_jobs.key_job(spec, "", "", program, seconds)
    suffix = hashlib.sha256(json.dumps([request, draft], sort_keys=True).encode()).hexdigest()[:10]
    own = site_jobs.own_name(suffix)
    job = site_jobs.key_job(spec, own, suffix, program, seconds)
    job["metadata"]["name"] = own
    del job["spec"]["suspend"]  # all of it is applied at once
    del job["spec"]["ttlSecondsAfterFinished"]  # the agent would recreate it
    brought = site_jobs.belongings(spec, None, suffix, program, request, given=False)
    return _work(spec, [*brought, job], request["secrets"], owner, first)


def _work(spec: SiteSpec, brought: list[Object], secrets: Iterable[str], owner: Mapping[str, Any] | None, first: Sequence[Object]) -> Object:
    stands = {f"{_STANDS}{name}": f'.metadata.ownerReferences[?(@.name=="{name}")].name' for name in sorted(set(secrets))}
    asked = {_OWNER: {"uid": ".metadata.uid"}, _PUBLIC: {"public": f".data.{public.ENTRY.replace('.', chr(92) + '.')}", **stands}}
    asked |= {("Job", item["metadata"]["name"]): _JOB for item in brought if item["kind"] == "Job"}
    published = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": PUBLIC_KEYS, "namespace": spec.namespace}}
    # The agent reads them in this order: the status of the job is never newer than the job's result.
    listed = [*first, site_jobs.owner(spec), *brought]
    return addon_objects.manifest_work(spec, PART, listed, owner=owner, read_only=[published], feedback=asked)


def owner_uid(work: Mapping[str, Any] | None) -> str:
    """The uid of the Secrets' owner; empty before the site has reported it.

    It is reported together with everything else. So without it nothing is known, and with it missing values do not exist.
    """
    return str(works.feedback(work).get(_OWNER, {}).get("uid") or "")


def result(work: Mapping[str, Any] | None, namespace: str) -> public.Public:
    """What the site reports about its keys.

    Raises:
        ClusterError: it is not what the job writes.
    """
    values = works.feedback(work).get(_PUBLIC, {})
    if not values.get("public") or not works.is_there(work, _PUBLIC):
        return public.Public()
    standing = [{"kind": "Secret", "name": name} for key, name in values.items() if key.startswith(_STANDS)]
    meta = {"namespace": namespace, "ownerReferences": standing}
    return reported.read({"metadata": meta, "data": {public.ENTRY: values["public"]}})


def job_of(work: Mapping[str, Any] | None) -> str:
    """Name of the job in a ManifestWork; empty when it is idle."""
    return next((item["metadata"]["name"] for item in works.listed_manifests(work) if item.get("kind") == "Job"), "")


def job_state(work: Mapping[str, Any] | None) -> State:
    """How the job of a ManifestWork gets on."""
    values = works.feedback(work).get(("Job", job_of(work)), {})
    if values.get("failed") == "True":
        return State(False, str(values.get("message") or "it has failed"), True)
    if values.get("succeeded"):
        return READY
    return State(False, "its pod has not terminated yet" if values.get("active") else "its state has not been reported yet")
