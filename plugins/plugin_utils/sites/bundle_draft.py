# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a bundle is made of, before it has a version. Pure.

A draft is plain data, since the hub keeps it: with it, any control node writes the same files again, and the next version can say what
differs. It contains nothing secret: private keys are made at the site.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..base.labels import POOL_LABEL
from ..base.names import keys_secret
from ..base.object_names import CLIENT_CONFIG, TRUST_CONFIG
from ..base.values import Object
from ..manifests import site_jobs
from ..manifests.pod import config_volume, mount
from ..site_keys import shipped
from ..spec.site_spec import SiteSpec

# On pod templates: counts how often the pods of a pool had to read their files again.
RESTARTS = "federated.flower/bundle-restarts"
PROGRAM = site_jobs.own_name("program")
# The job waits for its image; only those who apply the bundle start it again.
_SECONDS = 3600
_LINGER = 3600
_RETRIES = 3
# Argo CD: a hook that was deleted after its end does not count as a difference.
_HOOK = {
    "argocd.argoproj.io/hook": "Sync",
    "argocd.argoproj.io/hook-delete-policy": "BeforeHookCreation",
}
# Objects whose deletion takes data or other people's things away: people decide on each.
STAYING = frozenset(["Namespace", "PersistentVolume", "PersistentVolumeClaim"])
# On these: Argo CD and Flux delete them neither when they leave the bundle nor together with their Application or Kustomization.
_KEPT = {
    "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
    "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
}


@dataclass
class Draft:
    """What a site gets.

    Attributes:
        facts: C(site), C(federation), C(namespace), C(address), C(server_name) and more, for the texts.
        objects: what it applies; the job, and the ConfigMap of its program, have no version yet.
        request: for its job, see C(site_keys/maker.py), without C(binding).
        hub: identity of the hub, which replies are bound to.
        serving: pool -> name -> fingerprint of the keys that are registered.
        restarts: pool -> how often its pods had to read their files again.
        marks: shared secret -> mark of the request on which it was recreated, as the last reply says.
        open: whether the site lacks keys or secrets, so that a reply is needed.
        leaving: whether the site leaves, and only the list of what to delete is written.
    """

    facts: dict[str, Any] = field(default_factory=dict)
    objects: list[Object] = field(default_factory=list)
    request: dict[str, Any] = field(default_factory=dict)
    hub: str = ""
    serving: dict[str, dict[str, str]] = field(default_factory=dict)
    restarts: dict[str, int] = field(default_factory=dict)
    marks: dict[str, str] = field(default_factory=dict)
    open: bool = False
    leaving: bool = False

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Draft:
        """The draft that the hub keeps."""
        return cls(**copy.deepcopy(dict(kept)))

    def as_dict(self) -> dict[str, Any]:
        """For the hub."""
        return asdict(self)

    @property
    def trust(self) -> str:
        """The CA bundle, PEM."""
        return str(self._data(TRUST_CONFIG).get("ca.crt", ""))

    @property
    def certificate(self) -> str:
        """The site's client certificate, PEM; empty while there is none."""
        return str(self._data(CLIENT_CONFIG).get("tls.crt", ""))

    @property
    def asks(self) -> str:
        """Digest of what its job is asked: a reply to it answers every version with the same."""
        return hashlib.sha256(json.dumps([self.hub, self.request], sort_keys=True).encode()).hexdigest()

    def without_certificate(self) -> list[Object]:
        """Its objects but for the one with the client certificate."""
        return [one for one in self.objects if not is_object(one, "ConfigMap", CLIENT_CONFIG)]

    def _data(self, name: str) -> dict[str, Any]:
        """The data of one of its ConfigMaps; empty without it, or without any."""
        found: Object = next((one for one in self.objects if is_object(one, "ConfigMap", name)), {})
        return found.get("data") or {}

    def key_name(self, pool: str, first: int, number: int) -> str:
        """Name of the key of a pool's pod: the pods of ClientApps are numbered from 0 in every site."""
        offset = next((one["offset"] for one in self.request["pools"] if one["name"] == pool), first)
        return str(int(offset or 0) + number)

    def adapt(self, one: Object, *, certified: bool) -> None:
        """Give a StatefulSet as many pods as have a registered key, since Flower refuses an unknown key for a minute and longer; and the count of restarts."""
        pool = (one["metadata"].get("labels") or {}).get(POOL_LABEL)
        if one["kind"] != "StatefulSet" or not pool:
            return
        wanted, known = one["spec"], self.serving.get(pool, {})
        first = _first(one)
        # The pods of a StatefulSet have no gaps: one whose key can never serve again is refused by Flower, and the others go on.
        ready = [number for number in range(wanted["replicas"]) if self.key_name(pool, first, number) in known]
        wanted["replicas"] = ready[-1] + 1 if ready and certified else 0
        self.count_restarts(one)

    def count_restarts(self, one: Object) -> None:
        """Set the annotation on the pod template of a StatefulSet that makes its pods restart."""
        pool = (one["metadata"].get("labels") or {}).get(POOL_LABEL)
        if one["kind"] == "StatefulSet" and pool and self.restarts.get(pool):
            meta = one["spec"]["template"].setdefault("metadata", {})
            meta["annotations"] = {**(meta.get("annotations") or {}), RESTARTS: str(self.restarts[pool])}


def is_object(one: Mapping[str, Any], kind: str, name: str) -> bool:
    """Whether an object has this kind and name."""
    return (one.get("kind"), one["metadata"]["name"]) == (kind, name)


def is_program(one: Mapping[str, Any]) -> bool:
    """Whether an object is the ConfigMap with the program of the job."""
    return is_object(one, "ConfigMap", PROGRAM)


def _first(workload: Object) -> int:
    return int((workload["spec"].get("ordinals") or {}).get("start", 0))


def draft(
    spec: SiteSpec,
    objects: Iterable[Object],
    request: Mapping[str, Any],
    *,
    hub: str,
    serving: Mapping[str, Mapping[str, str]],
    certified: bool,
    before: Draft | None,
    marks: Mapping[str, str] | None = None,
    lacks: bool = False,
) -> Draft:
    """What a site gets.

    Args:
        objects: all its objects, from C(supernode.objects).
        hub: identity of the hub.
        certified: whether its client certificate is issued; until then it has no SuperNodes.
        before: the draft of the version before.
        lacks: whether the site lacks keys.
    """
    draft = Draft(
        {
            "site": spec.cluster,
            "federation": spec.federation,
            "namespace": spec.namespace,
            "address": spec.superlink_address,
            "region": spec.region,
            "version": spec.version,
            "makes_namespace": spec.create_namespace,
        },
        copy.deepcopy([dict(one) for one in objects]),
        dict(request),
        hub,
        {pool: dict(found) for pool, found in serving.items()},
        marks=dict(marks or {}),
    )
    if not certified:
        draft.objects = draft.without_certificate()
    draft.objects += _key_objects(spec, request)
    draft.open = lacks or draft.marks != {**draft.marks, **request.get("renew", {})}
    if before is None:
        draft.restarts = dict.fromkeys(serving, 0)
    else:
        # Once more where a registered key was replaced, and where all pods read what is new when they start.
        trust_differs = not spec.has_sidecar and bool(before.trust) and draft.trust != before.trust
        for pool, names in draft.serving.items():
            was = before.serving.get(pool, {})
            ran = {*was, *_running_names(before, pool)}  # a pod whose key had no successor yet runs with it still
            replaced = any(name in ran and was.get(name) != key for name, key in names.items())
            all_pods = bool(was) and (trust_differs or draft.marks != before.marks)
            draft.restarts[pool] = before.restarts.get(pool, 0) + int(replaced or all_pods)
    for one in draft.objects:
        draft.adapt(one, certified=certified)
        if one["kind"] in STAYING:
            one["metadata"]["annotations"] = {**_KEPT, **(one["metadata"].get("annotations") or {})}
    return draft


def _running_names(draft: Draft, pool: str) -> set[str]:
    """Names of the keys with which the pods of a pool run."""
    return {
        draft.key_name(pool, _first(one), number)
        for one in draft.objects
        if one["kind"] == "StatefulSet" and (one["metadata"].get("labels") or {}).get(POOL_LABEL) == pool
        for number in range(one["spec"]["replicas"])
    }


def _key_objects(spec: SiteSpec, request: Mapping[str, Any]) -> list[Object]:
    """The job that creates the keys, its rights, and what it needs."""
    job: dict[str, Any] = dict(site_jobs.key_job(spec, site_jobs.ACCESS, "program", shipped.files(), _SECONDS))
    own: dict[str, Any] = job["spec"]
    del own["suspend"]
    own.update(backoffLimit=_RETRIES, ttlSecondsAfterFinished=_LINGER)
    named = {**copy.deepcopy(job["metadata"]), "name": PROGRAM}
    program: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named, "data": {}}
    job["metadata"]["annotations"] = {**(job["metadata"].get("annotations") or {}), **_HOOK}
    pod = own["template"]["spec"]
    pod["volumes"] = [*pod["volumes"], config_volume("trust", TRUST_CONFIG)]
    pod["containers"][0]["volumeMounts"] = [*pod["containers"][0]["volumeMounts"], mount("trust", "/trust")]
    rights = site_jobs.given_access(spec, request["secrets"])
    for one in rights:
        if one["kind"] == "Role":  # the job reads which object its Secrets belong to
            one["rules"].append({"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [site_jobs.OWNER], "verbs": ["get"]})
    policies = [site_jobs.key_policy(spec, site_jobs.NAME)] if spec.network_policies else []
    return [*rights, site_jobs.owner(spec), program, *policies, job]


def with_trust(before: Draft, bundle: str, *, restart: bool) -> Draft:
    """The same with another CA bundle (PEM). C(restart): whether pods read it once, when they start."""
    draft = Draft.of(before.as_dict())
    for one in draft.objects:
        if is_object(one, "ConfigMap", TRUST_CONFIG):
            one["data"]["ca.crt"] = bundle
    if restart and draft.trust != before.trust:
        draft.restarts = {pool: before.restarts.get(pool, 0) + 1 for pool in draft.serving}
        for one in draft.objects:
            draft.count_restarts(one)
    return draft


def with_mark(before: Draft, marks: Mapping[str, str]) -> Draft:
    """The same, whose job recreates shared secrets: name -> mark of the request."""
    draft = Draft.of(before.as_dict())
    draft.request["renew"] = {**draft.request.get("renew", {}), **marks}
    draft.open = True
    return draft


def with_objects(before: Draft, objects: Iterable[Object]) -> Draft:
    """The same with some objects replaced, such as ClientApps in their own pods."""
    draft = Draft.of(before.as_dict())
    places = {(one["kind"], one["metadata"]["name"]): number for number, one in enumerate(draft.objects)}
    for one in objects:
        mine = copy.deepcopy(dict(one))
        draft.adapt(mine, certified=bool(draft.certificate) or not draft.request.get("client"))
        place = places.get((mine["kind"], mine["metadata"]["name"]))
        if place is None:
            draft.objects.append(mine)
        else:
            draft.objects[place] = mine
    return draft


def numbered(draft: Draft, version: int, nonce: str) -> list[Object]:
    """Its objects in a version of the bundle: a job of its own, whose request is bound to that version."""
    facts = draft.facts
    binding = {"federation": facts["federation"], "site": facts["site"], "hub": draft.hub, "version": version, "nonce": nonce}
    found = copy.deepcopy(draft.objects)
    for one in found:
        if is_object(one, "Job", site_jobs.NAME):
            one["metadata"]["name"] = f"{site_jobs.NAME}-v{version}"
        elif is_program(one):
            one["data"] = site_jobs.program_data(shipped.files(), {**draft.request, "binding": binding})
    return found


def request_of(spec: SiteSpec, pools: Iterable[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    """The request for the job.

    Args:
        pools: wanted, each with C(name), C(names) and C(offset).
        more: C(dead), C(client), C(listener), C(drop), C(renew), C(known_pools).
    """
    listed = [dict(pool) for pool in pools]
    names = [pool["name"] for pool in listed] + list(more.pop("known_pools", ()))
    return {
        "federation": spec.federation,
        "namespace": spec.namespace,
        "pools": listed,
        "owner": {"apiVersion": "v1", "kind": "ConfigMap", "name": site_jobs.OWNER},
        "secrets": site_jobs.secret_names(names),
        **more,
    }


def secrets_of(draft: Draft) -> list[str]:
    """The Secrets that the site's job makes."""
    return sorted({*draft.request.get("secrets", []), *(keys_secret(one["name"]) for one in draft.request.get("pools", []))})
