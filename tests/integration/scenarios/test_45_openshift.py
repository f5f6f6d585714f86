# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A hub on what looks like OpenShift: login, projects, Routes, from the first request to the teardown.

API server, rights, objects and the kind Route are real. What OpenShift has beside them is played, see openshift_front.py: its projects, OAuth
server and router. Its security context constraints are not, so pods are not waited for.
"""

from __future__ import annotations

import base64
import datetime
import json
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Conflict
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import connect
from ansible_collections.federated.flower.plugins.plugin_utils.marks import proof
from ansible_collections.federated.flower.tests.integration.openshift_front import ROUTE, Front, Router
from ansible_collections.federated.flower.tests.integration.scenarios import identities
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

USERS, SPACE = f"{NAMESPACE}-oc", f"{NAMESPACE}-os"
CA_SPACE = f"{SPACE}-ca"
ROLE = f"{NAMESPACE}-openshift"
DOMAIN = "apps.example.test"
RBAC = "rbac.authorization.k8s.io"
# Its go.sum has the checksum of openshift/api.
GO = Path(__file__).parents[2] / "fleet" / "go" / "ocm-hub"
PARTS = ("openshift_login", "openshift_projects", "{}", "openshift_logout")


def crd() -> dict[str, Any]:
    """The definition of Routes, out of OpenShift's own Go module."""
    command = ["go", "mod", "download", "-json", "github.com/openshift/api"]
    found = json.loads(subprocess.run(command, cwd=GO, check=True, capture_output=True, text=True, timeout=180).stdout)
    path = Path(found["Dir"]) / "route" / "v1" / "zz_generated.crd-manifests" / "routes.crd.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def certificate(folder: Path) -> tuple[Path, Path]:
    """Files with a certificate for localhost: with its key, and without."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    both, alone = folder / "front.pem", folder / "front-ca.pem"
    both.write_bytes(made + key.private_bytes(*form))
    alone.write_bytes(made)
    return both, alone


class World:
    """OpenShift, as far as there is one, and a user of it."""

    def __init__(self, federation: Any, folder: Path) -> None:
        self.federation, self.folder = federation, folder
        self.password = secrets.token_urlsafe(24)
        federation.secrets[self.password] = "password of the user of OpenShift"
        hub = federation.hub
        hub.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": USERS}})
        hub.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "developer", "namespace": USERS}})
        token = identities.token(federation, "hub", USERS, "developer")
        for name, rules in (
            # OpenShift's role self-provisioner, and what its roles admin and cluster-reader cover beyond those of Kubernetes.
            (f"{ROLE}-requester", [{"apiGroups": ["project.openshift.io"], "resources": ["projectrequests"], "verbs": ["create"]}]),
            (
                ROLE,
                [
                    *hub.get(f"{RBAC}/v1", "ClusterRole", "admin")["rules"],
                    {"apiGroups": ["route.openshift.io"], "resources": ["routes", "routes/custom-host"], "verbs": ["*"]},
                    {"apiGroups": ["project.openshift.io"], "resources": ["projects"], "verbs": ["get", "delete"]},
                    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]},
                ],
            ),
        ):
            hub.apply({"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules})
        subject = {"kind": "ServiceAccount", "name": "developer", "namespace": USERS}
        reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": f"{ROLE}-requester"}
        binding = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": f"{ROLE}-requester"}}
        hub.apply({**binding, "roleRef": reference, "subjects": [subject]})
        config = yaml.safe_load(federation.kubeconfig.read_text(encoding="utf-8"))
        entry = identities.entry(config, "hub")
        both, self.ca = certificate(folder)
        self.front = Front(
            entry["server"],
            base64.b64decode(entry["certificate-authority-data"]).decode(),
            both,
            self.admin,
            (USERS, "developer", token),
            self.password,
            ROLE,
        )
        self.router = Router(self.admin(), SPACE, DOMAIN)
        self.router.start()

    def admin(self) -> Any:
        """A connection of the cluster's administrators of its own."""
        return connect({"kubeconfig": str(self.federation.kubeconfig), "context": "hub"})

    def hosts(self, **hub: Any) -> dict[str, Any]:
        """The hub, by its API server and the user's name, and a site that is never asked."""
        access = {"host": self.front.url, "ca_cert": str(self.ca)}
        login = {"flower_auth": access, "flower_openshift_username": "developer", "flower_openshift_password": self.password}
        # The kubeconfig of all hosts is of the administrators.
        own = {"flower_kubeconfig": "", "superlink_storage_size": "256Mi", **login, **hub}
        return {"hub": own, "site-a": self.federation.base()["site-a"]}

    def play(self, playbook: str, *arguments: str, rc: int = 0, **hub: Any) -> Any:
        """Log in, request the projects, run a playbook, log out."""
        path = self.folder / f"{playbook}.yml"
        listed = [{"name": part, "import_playbook": f"federated.flower.{part.format(playbook)}"} for part in PARTS]
        path.write_text(json.dumps(listed), encoding="utf-8")
        settled = self.federation.settled
        common = {"flower_federation": "openshift", "flower_namespace": SPACE, "flower_ca_namespace": CA_SPACE}
        hosts = self.hosts(**hub)
        run = self.federation.play(str(path), "--limit", "hub", *arguments, hosts=hosts, rc=rc, **common)
        self.federation.settled = settled
        for token in self.front.issued:
            self.federation.secrets[token] = "token of the user of OpenShift"
        assert not self.federation.shown(run.log), "a password or token is in the output"
        return run

    def all_revoked(self) -> bool:
        """Whether every token that was issued is revoked."""
        return bool(self.front.issued) and set(self.front.issued) == set(self.front.revoked)

    def close(self) -> None:
        """Remove what is not in the scenarios' namespaces."""
        self.router.done.set()
        self.router.join(20)
        self.front.close()
        hub = self.federation.hub
        hub.delete(f"{RBAC}/v1", "ClusterRoleBinding", f"{ROLE}-requester")
        for name in (ROLE, f"{ROLE}-requester"):
            hub.delete(f"{RBAC}/v1", "ClusterRole", name)
        for name in (SPACE, CA_SPACE, USERS):
            if hub.get("v1", "Namespace", name):
                hub.delete("v1", "Namespace", name, propagation="Background")


@pytest.fixture(scope="module")
def openshift(federation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Routes, a user, and the stand-in."""
    definition = crd()
    try:
        federation.hub.create(definition)
        made = True
    except Conflict:
        made = False  # somebody else's
    federation.wait("the kind Route", lambda: served(federation), 30)
    world = World(federation, tmp_path_factory.mktemp("openshift"))
    yield world
    world.close()
    if made:
        federation.hub.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", definition["metadata"]["name"])


def served(federation: Any) -> bool:
    """Whether the API server serves Routes."""
    return any(one.kind == "Route" for one in federation.hub.resources(ROUTE))


def test_a_wrong_password_is_told_and_changes_nothing(openshift, federation):
    federation.secrets["not-the-password-at-all"] = "wrong password"
    run = openshift.play("site", "--tags", "superlink", rc=2, flower_openshift_password="not-the-password-at-all")
    words = run.messages("hub", failed=True)
    assert "developer cannot log in at https://localhost:" in words and "Authorization failed. 401" in words, words
    assert federation.gone("hub", SPACE) and not openshift.front.issued


def test_a_refused_route_is_named(openshift, federation):
    openshift.router.refuses = ("HostAlreadyClaimed", "route other/web already exposes it")
    run = openshift.play("site", "--tags", "superlink", rc=2)
    words = run.messages("hub", failed=True)
    assert "router default refuses host superlink-" in words, words
    assert "HostAlreadyClaimed: route other/web already exposes it" in words
    openshift.front.issued.clear()  # nobody has the token any more, which expires by itself


def test_the_hub_is_deployed_into_projects(openshift, federation):
    openshift.router.refuses = None
    run = openshift.play("site", "--tags", "superlink")
    assert "runs OpenShift, Kubernetes v" in run.messages("hub")
    assert openshift.all_revoked()
    hub = federation.hub
    for name in (SPACE, CA_SPACE):
        live = hub.get("v1", "Namespace", name)
        assert proof.project_of(live) == "openshift" and proof.created(live, "openshift")
        assert proof.MANAGED_BY not in proof.labels_of(live)
    pods = [hub.get("apps/v1", "StatefulSet", name, SPACE)["spec"]["template"]["spec"] for name in ("superlink", "serverapp")]
    for pod in pods:
        one = [*(pod.get("initContainers") or []), *pod["containers"]]
        contexts = [pod["securityContext"], *(container["securityContext"] for container in one)]
        assert not any({"runAsUser", "runAsGroup", "fsGroup"} & set(context) for context in contexts)
    (dns, *_more) = hub.get("networking.k8s.io/v1", "NetworkPolicy", "superlink", SPACE)["spec"]["egress"]
    assert {port["port"] for port in dns["ports"]} == {5353}
    assert dns["to"][0]["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "openshift-dns"}
    host = f"superlink-{SPACE}.{DOMAIN}"
    routes = {one["metadata"]["name"]: one["spec"]["host"] for one in hub.list(ROUTE, "Route", SPACE)}
    assert routes == {"superlink": host, "superlink-next": f"next.{host}"}
    assert hub.get("v1", "ConfigMap", "flower-federation", SPACE)["data"]["address"] == f"{host}:443"


def test_the_second_run_changes_nothing(openshift):
    run = openshift.play("site", "--tags", "superlink")
    assert set(run.changed.values()) == {0}, f"see {run.log}"
    assert openshift.all_revoked()


def test_the_projects_are_deleted_as_projects(openshift, federation):
    run = openshift.play("teardown", "-e", "flower_teardown=true", "-e", "flower_delete_volumes=true")
    federation.wait("the projects to go", lambda: federation.gone("hub", SPACE, CA_SPACE), 90)
    deleted = {request.name for request in openshift.front.seen if request.verb == "delete" and request.resource == "namespaces"}
    assert not deleted, run.messages("hub")
    assert openshift.all_revoked()
