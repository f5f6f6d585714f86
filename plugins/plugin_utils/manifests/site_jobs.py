# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs at a site: one creates the site's keys, others have nodes pull new images.

Only this job's pod has a service-account token, and the job is there for seconds. What it needs besides is its own
(C(ownerReferences)) and is deleted with it: the program, the rights, the network policy. Who may not
grant rights on Secrets (Kubernetes lets no one grant rights that they do not have) leaves that to the site's administrators: they create
the service account C(ACCESS) with its rights once (C(given_access)).

The Secrets belong to the ConfigMap C(OWNER): deleting it deletes them, without a right on Secrets.

The job is one object with one name: as long as it exists, the API server refuses a second one, so two controllers never
write the same Secrets.

RBAC cannot confine C(create) to names when an object is posted, because the name is in the body; it can for server-side
apply, where the name is in the address. The job uses nothing else, so all its rights are confined to names.

A kubelet pulls the images of a pod's containers before it creates them: a pod with these images is all that is needed, whatever becomes of its
containers. So the command may be missing in an image that is none of Flower's. Account, pull secrets, tolerations, security contexts, and
the users' labels and annotations, which policies of a cluster may demand, are those of the workload, so that what its pods could not pull,
this one cannot either. It requests next to nothing, no devices among it.

A pod has its node without a scheduler: the nodes are those on which the workload's pods are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from ..base.kinds import images_of
from ..base.labels import POOL_LABEL, selector
from ..base.names import CLIENT_KEY, PUBLIC_KEYS, keys_secret
from ..base.object_names import KEY_JOB, KEY_JOB_OWNER, LOCAL_TLS_SECRET, SUPEREXEC_SECRET
from ..base.values import Object, compact
from ..spec.site_spec import SiteSpec
from . import network_policies
from .common_objects import account_rights, api_object, api_volume, config_map, labels, network_policy, service_account
from .pod import container_security_context, image, mount, pod_template

NAME = KEY_JOB
KEY_APPLICATION = "supernode-keys"
# Service account, role and role binding that the site's administrators created for the job.
ACCESS = KEY_JOB
# ConfigMap to which all Secrets that the site creates belong.
OWNER = KEY_JOB_OWNER
PROGRAM = "/program"
API = "/api"
REQUEST = "request.json"
TOKEN_SECONDS = 600  # the shortest that the API server grants
# The job is deleted automatically when the control node that started it could not delete it.
KEY_LINGER_SECONDS = 300

PULL_APPLICATION = "supernode-pull"
# The cluster ends and deletes a job that the control node could not delete.
PULL_LINGER_SECONDS = 60
# A container ends at once, so its limits only have to let it start. A quota may require them.
_RESOURCES = {"limits": {"cpu": "200m", "memory": "64Mi"}, "requests": {"cpu": "1m", "memory": "8Mi"}}
# Of the workload's pods: what decides whether a pod is admitted, and whether it gets an image.
_OF_POD = ("serviceAccountName", "securityContext", "imagePullSecrets", "tolerations", "priorityClassName", "os")
_OF_CONTAINER = ("image", "imagePullPolicy", "securityContext")
_HAPROXY = ("sidecar", "tunnel")


def own_name(suffix: str) -> str:
    """Name of everything that belongs to one job."""
    return f"{NAME}-{suffix}"


def key_job(spec: SiteSpec, account: str, suffix: str, program: Mapping[str, str], seconds: int) -> Object:
    """The job, suspended: what it needs refers to it, so it must exist first.

    Args:
        account: name of its service account.
        suffix: distinguishes this job's objects from those of another one.
        program: files of the program, path -> text (only the paths matter here).
        seconds: for the whole job.
    """
    own = own_name(suffix)
    items = [{"key": entry(path), "path": path} for path in [*program, REQUEST]]
    container = {
        "name": "keys",
        "image": image(spec, "supernode", spec.pods.image),
        "imagePullPolicy": spec.image_pull_policy,
        "command": ["python", "-B", "-m", "plugin_utils.site_keys.maker"],
        "workingDir": PROGRAM,
        # Devices of a SuperNode that computes itself are none of this container's.
        "resources": compact({part: {name: one for name, one in amounts.items() if "/" not in name} for part, amounts in spec.pods.resources.items()}),
        "securityContext": container_security_context(),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [mount("program", PROGRAM), mount("api", API)],
    }
    template = pod_template(
        spec,
        KEY_APPLICATION,
        spec.pods.for_helpers,
        account=account,
        restart="Never",
        containers=[compact(container)],
        volumes=[{"name": "program", "configMap": {"name": own, "defaultMode": 0o444, "items": items}}, api_volume(TOKEN_SECONDS)],
        grace=1,  # it has nothing that a sudden end could damage
    )
    body = {
        "suspend": True,
        "backoffLimit": 0,  # the program itself retries; another run of the role starts a new job
        "activeDeadlineSeconds": seconds,
        "ttlSecondsAfterFinished": KEY_LINGER_SECONDS,
        "template": template,
    }
    return api_object(spec, "batch/v1/Job", NAME, KEY_APPLICATION, {"spec": body})


def entry(path: str) -> str:
    """A file's entry in the ConfigMap, which has no folders."""
    return path.replace("/", "-")


def belongings(
    spec: SiteSpec,
    owner: Mapping[str, Any] | None,
    suffix: str,
    program: Mapping[str, str],
    request: Mapping[str, Any],
    *,
    given: bool,
) -> list[Object]:
    """The objects that belong to the job.

    Args:
        owner: the job as the API server has it; None where something else takes all of it away.
        request: see site_keys/maker.py.
        given: whether the site's administrators created the service account and its rights.
    """
    own = own_name(suffix)
    built = [config_map(spec, own, KEY_APPLICATION, program_data(program, request))]
    if not given:
        built += access(spec, own, request["secrets"])
    if spec.network_policies:
        built.append(key_policy(spec, own))
    if owner is None:
        return built
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": NAME, "uid": owner["metadata"]["uid"]}
    for item in built:
        item["metadata"]["ownerReferences"] = [reference]
    return built


def program_data(program: Mapping[str, str], request: Mapping[str, Any]) -> dict[str, str]:
    """Data of the ConfigMap with the program and its request."""
    texts = {entry(path): text for path, text in program.items()}
    texts[REQUEST] = json.dumps(request, indent=1, sort_keys=True)
    return texts


def owner(spec: SiteSpec) -> Object:
    """The ConfigMap to which the Secrets belong. It is not part of an ApplySet, so nothing prunes it."""
    words = (
        "The Secrets with the keys that this site made belong to this ConfigMap: whoever deletes it deletes them, and the "
        "SuperNodes of this site have to be registered anew.\n"
    )
    return config_map(spec, OWNER, KEY_APPLICATION, {"README": words})


def secret_names(pools: Iterable[str]) -> list[str]:
    """The Secrets that the job may touch."""
    return sorted({*map(keys_secret, pools), SUPEREXEC_SECRET, LOCAL_TLS_SECRET, CLIENT_KEY})


def given_access(spec: SiteSpec, secrets: Iterable[str]) -> list[Object]:
    """Service account and rights, for the site's administrators to create once."""
    # What administrators once approved does not change with a release of Flower.
    return access(spec, ACCESS, secrets, versioned=False)


def access(spec: SiteSpec, name: str, secrets: Iterable[str], **more: bool) -> list[Object]:
    """A service account that may write these Secrets and the ConfigMap with their public keys, and nothing else."""
    return [service_account(spec, name, KEY_APPLICATION, **more), *account_rights(spec, name, KEY_APPLICATION, rules(secrets), **more)]


def rules(secrets: Iterable[str]) -> list[Object]:
    """The job's rights. C(delete) on the ConfigMap is what OpenShift requires to set an object's owners."""
    needed = (
        ("secrets", ["get", "create", "patch", "delete"], sorted(secrets)),
        ("configmaps", ["create", "patch", "delete"], [PUBLIC_KEYS]),
    )
    return [{"apiGroups": [""], "resources": [resource], "resourceNames": names, "verbs": verbs} for resource, verbs, names in needed]


def key_policy(spec: SiteSpec, name: str) -> Object:
    """The job's pod reaches API servers and cannot be reached. It is created and deleted with the job.

    No name is resolved.
    """
    body = {
        "podSelector": {"matchLabels": selector(spec.federation, KEY_APPLICATION)},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [],
        "egress": network_policies.api_server_rules(spec.api_server),
    }
    return network_policy(spec, name, KEY_APPLICATION, body)


def new_images(wanted: Mapping[str, Any], live: Mapping[str, Any]) -> dict[str, str]:
    """Container -> image of a rendered workload, where the live one has another. Each image once."""
    there = images_of(live)
    found: dict[str, str] = {}
    for container, new in images_of(wanted).items():
        if new != there.get(container) and new not in {*there.values(), *found.values()}:
            found[container] = new
    return found


def pull_job(spec: SiteSpec, workload: Mapping[str, Any], containers: Mapping[str, str], node: str, seconds: int) -> Object:
    """The job for one node.

    Args:
        spec: the site.
        workload: as rendered.
        containers: of C(new_images).
        node: its name.
        seconds: after which the cluster ends it.
    """
    template = workload["spec"]["template"]
    given, noted = template["spec"], template["metadata"]
    every = [*(given.get("initContainers") or []), *given["containers"]]
    pool = (workload["metadata"].get("labels") or {}).get(POOL_LABEL)
    pod = {
        **{name: given[name] for name in _OF_POD if name in given},
        "nodeName": node,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,  # it has nothing that a sudden end could damage
        "containers": [
            {
                "name": one["name"],
                "securityContext": container_security_context(),
                **{name: one[name] for name in _OF_CONTAINER if name in one},
                "command": ["haproxy", "-v"] if one["name"] in _HAPROXY else ["python", "-c", ""],
                "resources": _RESOURCES,
            }
            for one in every
            if one["name"] in containers
        ],
    }
    meta = {**noted, "labels": dict(sorted({**noted["labels"], **labels(spec, PULL_APPLICATION, pool=pool)}.items()))}
    body = {
        "backoffLimit": 0,
        "activeDeadlineSeconds": seconds,
        "ttlSecondsAfterFinished": PULL_LINGER_SECONDS,
        "template": {"metadata": meta, "spec": compact(pod)},
    }
    own = "\n".join([workload["metadata"]["name"], node, *containers.values()])
    name = f"{PULL_APPLICATION}-{hashlib.sha256(own.encode()).hexdigest()[:10]}"
    return api_object(spec, "batch/v1/Job", name, PULL_APPLICATION, {"spec": body}, pool=pool)


def pull_network_policies(spec: SiteSpec) -> list[Object]:
    """The policy of these pods. They need no network, since the kubelet pulls. It is created before them and deleted after them."""
    body = {"podSelector": {"matchLabels": selector(spec.federation, PULL_APPLICATION)}, "policyTypes": ["Ingress", "Egress"]}
    return [network_policy(spec, PULL_APPLICATION, PULL_APPLICATION, body)] if spec.network_policies else []
