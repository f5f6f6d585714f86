# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Site (§1, §4): the active one of a namespace, and what the controller makes for it."""

from __future__ import annotations

import json
from pathlib import Path

from . import access, certificates, links
from .conditions import CONFIGURED, OK, REDEEMED, RESOLVED, RUNNING, State, error, ok_or, pending
from .kube import ApiError, Object
from .space import CONTROLLED, Space, owned_by
from .switches import UNREADY, annotation

ROUTER = "skupper-router"
CODE = "skupper-standin-router"  # ConfigMap with the router's program
PROGRAM = Path(__file__).with_name("router.py")
LEASE = "skupper-site-leader"  # kube-adaptors elect a leader by it: no owner, no labels, it stays when the Site is deleted
PROGRAM_PATH = "/standin/router.py"  # in the pods
# The router's program does kube-adaptor's work, too.
IDLE = "import signal; signal.signal(signal.SIGTERM, lambda *_: exit()); signal.pause()"
SELECTOR = {"application": ROUTER, "skupper.io/component": "router"}
UID = 49999  # of the user in Flower's images


def groups(item: Object) -> list[str]:
    """§4: router groups; each is a Deployment of one pod."""
    return [ROUTER, f"{ROUTER}-2"] if item["spec"].get("ha") else [ROUTER]


def required(item: Object) -> tuple[str, ...]:
    """§1: Resolved counts only with link access."""
    linked = item["spec"].get("linkAccess", "") not in ("", "none")
    return (CONFIGURED, RUNNING, RESOLVED) if linked else (CONFIGURED, RUNNING)


def choose(space: Space) -> None:
    """Find the active Site; §1: any other is told that there is one already."""
    found = space.all("Site")
    before = space.site
    active = None
    if before is not None:  # known by its name
        active = next((item for item in found if item["metadata"]["name"] == before["metadata"]["name"]), None)
    else:  # the controller was just started: the one that the router's configuration belongs to
        config = space.get("ConfigMap", ROUTER)
        active = next((item for item in found if config and owned_by(config, item["metadata"]["uid"])), None)
    active = active or next(iter(found), None)
    changed = before is None or active is None or active["metadata"]["uid"] != before["metadata"]["uid"]
    if before is not None and changed:
        _deleted(space)
    space.site = active
    if active is not None and changed:
        links.leave_behind(space)
    for item in found:
        status = space.status(item)
        status.field("controller", {"name": "skupper-controller", "namespace": "skupper", **_version(space)})
        if active is not None and item is not active:
            name = active["metadata"]["name"]
            text = f"An active site already exists in the namespace ({name})"
            status.set(CONFIGURED, error(text), required(item))


def _version(space: Space) -> dict[str, str]:
    return {"version": space.switches.version}


def _deleted(space: Space) -> None:
    """§2a.6: tokens that were redeemed for a Site that is gone stay redeemed, with an error (2.2 and later)."""
    space.seen.clear()
    space.places.clear()
    space.left_behind.clear()
    space.revisions.clear()
    space.applied.clear()
    if space.switches.before_2_2:
        return
    for item in space.all("AccessToken"):
        status = space.status(item)
        if status.is_true(REDEEMED):
            text = "Already redeemed for a deleted site"
            status.condition(REDEEMED, State(True, "Error", text))
            status.value.update(redeemed=True, status="Error", message=text)


def check(space: Space, *, again: bool) -> str | None:
    """Bring the active Site about as far as its objects go; returns what is wrong, or None."""
    item = space.site
    assert item is not None
    link_access = item["spec"].get("linkAccess", "")
    if link_access not in ("", "none", "default") and link_access not in access.enabled(space):
        return f"Unsupported value for LinkAccess: {link_access}"
    for config in space.all("ConfigMap"):
        labels = config["metadata"].get("labels") or {}
        if "internal.skupper.io/router-config" in labels and not owned_by(config, item["metadata"]["uid"]):
            # §8.2: made anew before its predecessor's objects were collected
            return f'{config["metadata"]["name"]} is not owned by skupper site "{item["metadata"]["uid"]}"'
    name = item["metadata"]["name"]
    if not item["spec"].get("serviceAccount"):
        _account(space, again=again)
    certificates.want(space, "skupper-site-ca", f"{name} site CA", owners=space.owner)
    certificates.want(space, "skupper-local-ca", f"{name} local CA", owners=space.owner)
    local = "skupper-router-local"
    hosts = [local, f"{local}.{space.name}", f"{local}.{space.name}.svc.cluster.local"]
    certificates.want(space, "skupper-local-server", local, ca="skupper-local-ca", hosts=hosts, owners=space.owner)
    if link_access not in ("", "none"):
        access.want_default(space, link_access)
    return None


def initialised(space: Space) -> bool:
    """Whether the active Site's routers have their configuration: from then on trouble with its spec stops no more."""
    assert space.site is not None
    config = space.get("ConfigMap", ROUTER)
    return config is not None and owned_by(config, space.site["metadata"]["uid"])


def tell(space: Space, trouble: str | None, endpoints: list[Object] | None = None) -> None:
    """Conditions of the active Site. §1: Resolved is set only where there is, or was, a way in."""
    item = space.site
    assert item is not None
    status = space.status(item)
    needs = required(item)
    status.field("defaultIssuer", item["spec"].get("defaultIssuer") or "skupper-site-ca")
    status.set(CONFIGURED, ok_or(trouble), needs)
    if endpoints is None:
        return
    running = _running(space)
    if running is not None or status.has(RUNNING):  # §1: absent until there is a pod
        status.set(RUNNING, running or pending(""), needs)
    if space.all("RouterAccess") or status.value.get("endpoints"):
        status.field("endpoints", endpoints)
        status.set(RESOLVED, OK if endpoints else pending("Pending"), needs)


def elect(space: Space, *, again: bool) -> None:
    """§4: the Lease of the routers' kube-adaptors, once one runs."""
    if any(pod["status"].get("phase") == "Running" for pod in router_pods(space)):
        space.ensure({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": LEASE}, "spec": {}}, again=again)


def router_pods(space: Space) -> list[Object]:
    """The namespace's router pods."""
    wanted = {"skupper.io/component": "router", "skupper.io/type": "site"}
    return [item for item in space.all("Pod") if wanted.items() <= (item["metadata"].get("labels") or {}).items()]


def _running(space: Space) -> State | None:
    """§1: at least one router pod is running and ready; None where there is no pod."""
    assert space.site is not None
    unready = annotation(space.site, UNREADY)
    if unready:  # for a moment, while links and traffic go on
        return pending(f"containers with unready status: {unready}")
    state = None
    for pod in router_pods(space):
        conditions = {one["type"]: one for one in pod.get("status", {}).get("conditions", [])}
        if pod["status"].get("phase") == "Running" and conditions.get("Ready", {}).get("status") == "True":
            return OK
        told = next((one.get("message") for one in conditions.values() if one["status"] == "False"), None)
        state = pending(told or "")
    return state


def _account(space: Space, *, again: bool) -> None:
    """The account of the router pods, with what kube-adaptor may do."""
    every = ["get", "list", "watch"]
    write = [*every, "create", "update", "delete"]
    version = "rbac.authorization.k8s.io/v1"
    rules = [
        {"apiGroups": [""], "resources": ["secrets", "pods", "services"], "verbs": every},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": write},
    ]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": ROUTER}
    subject = {"kind": "ServiceAccount", "name": ROUTER, "namespace": space.name}
    for extra in (
        {"apiVersion": "v1", "kind": "ServiceAccount"},
        {"apiVersion": version, "kind": "Role", "rules": rules},
        {"apiVersion": version, "kind": "RoleBinding", "roleRef": role, "subjects": [subject]},
    ):
        space.ensure({**extra, "metadata": {"name": ROUTER, "ownerReferences": space.owner}}, again=again)


def write_config(space: Space, config: Object) -> None:
    """The configuration of the routers, one ConfigMap for each group; those of groups that are gone are deleted."""
    assert space.site is not None
    wanted = groups(space.site)
    for group in wanted:
        data = {"router.json": json.dumps(_of_group(space.site, group, config), indent=1, sort_keys=True)}
        have = space.get("ConfigMap", group)
        if have is None:
            labels = {"internal.skupper.io/router-config": ""}
            metadata = {"name": group, "labels": labels, "ownerReferences": space.owner}
            space.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
        elif have.get("data") != data:
            space.replace({**have, "data": data})
    for item in space.all("ConfigMap"):
        name = item["metadata"]["name"]
        if "internal.skupper.io/router-config" in (item["metadata"].get("labels") or {}) and name not in wanted:
            space.delete("Deployment", name)
            space.delete("ConfigMap", name)
            space.applied.clear()


def _of_group(item: Object, group: str, config: Object) -> Object:
    """§4, HA: with link access the second router dials the first, with the certificate that both show."""
    if group == ROUTER or RESOLVED not in required(item):
        return config
    first = {"name": ROUTER, "host": ROUTER, "port": "55671", "profile": "skupper-site-server", "cost": 1}
    return {**config, "links": [*config["links"], first]}


def run_routers(space: Space, image: str, *, again: bool) -> None:
    """§4: the routers' Deployments and the Service for use inside the namespace."""
    assert space.site is not None
    code = {"router.py": PROGRAM.read_text(encoding="utf-8")}
    metadata = {"name": CODE, "ownerReferences": space.owner}
    space.ensure({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": code}, again=again)
    local = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "skupper-router-local",
            "annotations": {CONTROLLED: "true"},
            "ownerReferences": space.owner,
        },
        "spec": {"selector": SELECTOR, "ports": [{"name": "amqps", "port": 5671, "targetPort": 5671}]},
    }
    space.ensure(local, again=again)
    for group in groups(space.site):
        try:
            space.ensure(_deployment(space.site, group, image), again=again)
        except ApiError as refused:
            if refused.status != 403:  # a namespace that is being removed
                raise
            space.log(f"{space.name}: {refused}")


def _deployment(item: Object, group: str, image: str) -> Object:
    """One router. Its pods keep to Pod Security ``restricted`` but for the seccompProfile, which Skupper's do not set."""
    labels = {
        "app.kubernetes.io/name": ROUTER,
        "app.kubernetes.io/part-of": "skupper",
        **SELECTOR,
        "skupper.io/group": group,
        "skupper.io/type": "site",
    }
    router = {
        "env": [
            {"name": "SKUPPER_SITE_ID", "value": item["metadata"]["uid"]},
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ],
        "ports": [
            {"name": "amqps", "containerPort": 5671},
            {"name": "http", "containerPort": 9090},
            {"name": "inter-router", "containerPort": 55671},
            {"name": "edge", "containerPort": 45671},
        ],
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": 9090}, "periodSeconds": 1, "failureThreshold": 1},
        "resources": {"requests": {"cpu": "50m", "memory": "32Mi"}},
    }
    pod: Object = {
        "serviceAccountName": item["spec"].get("serviceAccount") or ROUTER,
        "terminationGracePeriodSeconds": 2,
        "enableServiceLinks": False,
        "securityContext": {"runAsNonRoot": True},
        "initContainers": [_container("config-init", image, PROGRAM_PATH, "--init", group)],
        "containers": [
            _container("router", image, PROGRAM_PATH, group, **router),
            _container("kube-adaptor", image, "-c", IDLE),
        ],
        "volumes": [
            {"name": "code", "configMap": {"name": CODE}},
            {"name": "certs", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
        ],
    }
    if item["spec"].get("ha"):  # so a switch of HA replaces the first router's pod, too
        apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": SELECTOR}}
        term = {"weight": 100, "podAffinityTerm": apart}
        pod["affinity"] = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": group,
            "labels": {key: value for key, value in labels.items() if key != "skupper.io/group"},
            "ownerReferences": [
                {
                    "apiVersion": "skupper.io/v2alpha1",
                    "kind": "Site",
                    "name": item["metadata"]["name"],
                    "uid": item["metadata"]["uid"],
                }
            ],
        },
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"skupper.io/component": "router", "skupper.io/group": group}},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def _container(name: str, image: str, *words: str, **more: object) -> Object:
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python", "-I", "-u", *words],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": UID,
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "code", "mountPath": "/standin", "readOnly": True},
            {"name": "certs", "mountPath": "/tmp"},
        ],
        **more,
    }
