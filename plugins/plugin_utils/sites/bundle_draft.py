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
from collections.abc import Collection, Iterable, Mapping
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
        return str(_data(self, TRUST_CONFIG).get("ca.crt", ""))

    @property
    def certificate(self) -> str:
        """The site's client certificate, PEM; empty while there is none."""
        return str(_data(self, CLIENT_CONFIG).get("tls.crt", ""))

    @property
    def asks(self) -> str:
        """Digest of what its job is asked: a reply to it answers every version with the same."""
        return hashlib.sha256(json.dumps([self.hub, self.request], sort_keys=True).encode()).hexdigest()


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
        spec: the site.
        objects: all its objects, from C(supernode.objects).
        request: for its job.
        hub: identity of the hub.
        serving: see C(Draft).
        certified: whether its client certificate is issued; until then it has no SuperNodes.
        before: the draft of the version before.
        marks: see C(Draft).
        lacks: whether the site lacks keys.
    """
    chosen = [copy.deepcopy(dict(one)) for one in objects if certified or not _is(one, "ConfigMap", CLIENT_CONFIG)]
    chosen += _key_objects(spec, request)
    made = Draft(
        {
            "site": spec.cluster,
            "federation": spec.federation,
            "namespace": spec.namespace,
            "address": spec.superlink_address,
            "region": spec.region,
            "version": spec.version,
            "makes_namespace": spec.create_namespace,
        },
        chosen,
        dict(request),
        hub,
        {pool: dict(found) for pool, found in serving.items()},
    )
    made.marks = dict(marks or {})
    made.open = lacks or made.marks != {**made.marks, **request.get("renew", {})}
    renewed = before is not None and made.marks != before.marks  # all pods read it when they start
    made.restarts = _restarts(made, before, all_pools=renewed or (not spec.has_sidecar and _trust_differs(made, before)))
    for one in made.objects:
        _limit(one, made, certified=certified)
        if one["kind"] in STAYING:
            one["metadata"]["annotations"] = {**_KEPT, **(one["metadata"].get("annotations") or {})}
    return made


def _data(made: Draft, name: str) -> dict[str, Any]:
    """The data of one of its ConfigMaps; empty without it, or without any."""
    found: dict[str, Any] = next((one for one in made.objects if _is(one, "ConfigMap", name)), {})
    return found.get("data") or {}


def is_program(one: Mapping[str, Any]) -> bool:
    """Whether an object is the ConfigMap with the program of the job."""
    return _is(one, "ConfigMap", PROGRAM)


def _is(one: Mapping[str, Any], kind: str, name: str) -> bool:
    return (one.get("kind"), one["metadata"]["name"]) == (kind, name)


def _trust_differs(made: Draft, before: Draft | None) -> bool:
    return before is not None and bool(before.trust) and made.trust != before.trust


def _restarts(made: Draft, before: Draft | None, *, all_pools: bool) -> dict[str, int]:
    """How often the pods of each pool had to read their files again: once more where a registered key was replaced."""
    found = {}
    for pool, names in made.serving.items():
        was = before.serving.get(pool, {}) if before else {}
        # A pod whose key had no successor yet runs with it still.
        ran = {*was, *(_names_of_pods(before, pool) if before else ())}
        replaced = any(name in ran and was.get(name) != key for name, key in names.items())
        found[pool] = (before.restarts.get(pool, 0) if before else 0) + int(replaced or (all_pools and bool(was)))
    return found


def _names_of_pods(made: Draft, pool: str) -> set[str]:
    """Names of the keys with which the pods of a pool run."""
    return {
        _key_name(made, pool, int((one["spec"].get("ordinals") or {}).get("start", 0)), number)
        for one in made.objects
        if one["kind"] == "StatefulSet" and (one["metadata"].get("labels") or {}).get(POOL_LABEL) == pool
        for number in range(one["spec"]["replicas"])
    }


def _limit(one: Object, made: Draft, *, certified: bool) -> None:
    """No pod without a registered key: Flower refuses a key that it does not know for a minute and longer."""
    pool = (one["metadata"].get("labels") or {}).get(POOL_LABEL)
    if one["kind"] != "StatefulSet" or not pool:
        return
    wanted = one["spec"]
    first = int((wanted.get("ordinals") or {}).get("start", 0))
    known = made.serving.get(pool, {})
    # The pods of a StatefulSet have no gaps: one whose key can never serve again is refused by Flower, and the others go on.
    ready = [number for number in range(wanted["replicas"]) if _key_name(made, pool, first, number) in known]
    wanted["replicas"] = ready[-1] + 1 if ready and certified else 0
    if made.restarts.get(pool):
        meta = wanted["template"].setdefault("metadata", {})
        meta["annotations"] = {**(meta.get("annotations") or {}), RESTARTS: str(made.restarts[pool])}


def _key_name(made: Draft, pool: str, first: int, number: int) -> str:
    """Name of the key of a pool's pod: the pods of ClientApps are numbered from 0 in every site."""
    offset = next((one["offset"] for one in made.request["pools"] if one["name"] == pool), first)
    return str(int(offset or 0) + number)


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
    """The same with another CA bundle.

    Args:
        before: the draft of the version before.
        bundle: PEM.
        restart: whether pods read it once, when they start.
    """
    made = Draft.of(before.as_dict())
    if data := _data(made, TRUST_CONFIG):
        data["ca.crt"] = bundle
    if restart and made.trust != before.trust:
        made.restarts = {pool: before.restarts.get(pool, 0) + 1 for pool in made.serving}
        _annotate(made)
    return made


def with_certificate(before: Draft, certificate: str) -> Draft:
    """The same with another client certificate, PEM."""
    made = Draft.of(before.as_dict())
    if data := _data(made, CLIENT_CONFIG):
        data["tls.crt"] = certificate
    return made


def with_mark(before: Draft, marks: Mapping[str, str]) -> Draft:
    """The same, whose job recreates shared secrets: name -> mark of the request."""
    made = Draft.of(before.as_dict())
    made.request["renew"] = {**made.request.get("renew", {}), **marks}
    made.open = True
    return made


def with_objects(before: Draft, objects: Collection[Object], made_for: Mapping[str, Mapping[str, str]]) -> Draft:
    """The same with some objects replaced, such as ClientApps in their own pods."""
    made = Draft.of(before.as_dict())
    made.serving = {pool: dict(found) for pool, found in made_for.items()}
    places = {(one["kind"], one["metadata"]["name"]): number for number, one in enumerate(made.objects)}
    for one in objects:
        mine = copy.deepcopy(dict(one))
        _limit(mine, made, certified=bool(made.certificate) or not _shows(made))
        place = places.get((mine["kind"], mine["metadata"]["name"]))
        if place is None:
            made.objects.append(mine)
        else:
            made.objects[place] = mine
    return made


def _shows(made: Draft) -> bool:
    return bool(made.request.get("client"))


def _annotate(made: Draft) -> None:
    for one in made.objects:
        pool = (one["metadata"].get("labels") or {}).get(POOL_LABEL)
        if one["kind"] == "StatefulSet" and pool and made.restarts.get(pool):
            meta = one["spec"]["template"].setdefault("metadata", {})
            meta["annotations"] = {**(meta.get("annotations") or {}), RESTARTS: str(made.restarts[pool])}


def numbered(made: Draft, version: int, nonce: str) -> list[Object]:
    """Its objects in a version of the bundle: a job of its own, whose request is bound to that version."""
    binding = {
        "federation": made.facts["federation"],
        "site": made.facts["site"],
        "hub": made.hub,
        "version": version,
        "nonce": nonce,
    }
    found = copy.deepcopy(made.objects)
    for one in found:
        if _is(one, "Job", site_jobs.NAME):
            one["metadata"]["name"] = f"{site_jobs.NAME}-v{version}"
        elif is_program(one):
            one["data"] = site_jobs.program_data(shipped.files(), {**made.request, "binding": binding})
    return found


def request_of(spec: SiteSpec, pools: Iterable[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    """The request for the job.

    Args:
        spec: the site.
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


def secrets_of(made: Draft) -> list[str]:
    """The Secrets that the site's job makes."""
    return sorted({*made.request.get("secrets", []), *(keys_secret(one["name"]) for one in made.request.get("pools", []))})
