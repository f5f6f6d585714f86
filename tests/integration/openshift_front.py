# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for what OpenShift has beside an API server of Kubernetes: its API groups, projects, OAuth server and router.

Those are servers of OpenShift that do not run here. This one stands in front of a real API server, which does everything else:

- C(GET /apis) names the groups of OpenShift as well.
- A ProjectRequest becomes a Namespace with the annotations that OpenShift sets, and its requester the administrator of it (openshift/api,
  project/v1; OpenShift documentation, «Configuring project creation»).
- The OAuth server answers to the challenge flow of C(openshift-challenging-client); its tokens are those of a ServiceAccount, until they are
  revoked (OpenShift documentation, «Configuring the internal OAuth server»).
- C(Router) writes into Routes what a router does (openshift/api, route/v1: C(RouteIngress)); the kind is OpenShift's own.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import secrets
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Conflict, NotFound
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.tests.integration.recorder import Recorder, _Handler

GROUPS = ("config.openshift.io", "oauth.openshift.io", "project.openshift.io", "route.openshift.io", "security.openshift.io")
PROJECTS = "/apis/project.openshift.io/v1"
TOKENS = "/apis/oauth.openshift.io/v1/useroauthaccesstokens"
ROUTE = "route.openshift.io/v1"


def object_name(token: str) -> str:
    """Name of the object that stands for a token (openshift/api, oauth/v1: C(UserOAuthAccessToken))."""
    digest = hashlib.sha256(token.removeprefix("sha256~").encode()).digest()
    return "sha256~" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


class Front(Recorder):
    """The stand-in.

    Args:
        server: URL of the API server.
        ca: its CA, PEM.
        certificate: file with certificate and key to listen with.
        admin: makes a connection of the cluster's administrators.
        account: namespace and name of the ServiceAccount that stands for the user, and its token.
        password: of the user C(developer).
        role: ClusterRole that an administrator of a project has.
    """

    def __init__(
        self, server: str, ca: str, certificate: Path, admin: Callable[[], Cluster], account: tuple[str, str, str], password: str, role: str
    ) -> None:
        super().__init__(server, ca)
        self.admin, self.account, self.password, self.role = admin, account, password, role
        self.codes: set[str] = set()
        self.issued: list[str] = []
        self.revoked: list[str] = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self._server.RequestHandlerClass = type("Handler", (_FrontHandler,), {"recorder": self})
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = self.url.replace("http://127.0.0.1", "https://localhost")

    @property
    def user(self) -> str:
        """The user's name, as Kubernetes knows it."""
        namespace, name, _token = self.account
        return f"system:serviceaccount:{namespace}:{name}"

    # ---- projects ----------------------------------------------------------------------------------------------------

    def request_project(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Create the Namespace, and make the requester its administrator."""
        name, admin = body["metadata"]["name"], self.admin()
        notes = {"openshift.io/requester": self.user, "openshift.io/display-name": body.get("displayName", "")}
        notes["openshift.io/description"] = body.get("description", "")
        try:
            made = admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "annotations": notes}})
        except Conflict:
            message = f'project.project.openshift.io "{name}" already exists'
            return 409, {"kind": "Status", "status": "Failure", "reason": "AlreadyExists", "code": 409, "message": message}
        namespace, account, _token = self.account
        admin.create(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "RoleBinding",
                "metadata": {"name": "admin", "namespace": name},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": self.role},
                "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
            }
        )
        return 201, {**made, "apiVersion": "project.openshift.io/v1", "kind": "Project"}

    def project(self, method: str, name: str) -> tuple[int, dict[str, Any]]:
        """Read or delete a project."""
        admin = self.admin()
        live = admin.get("v1", "Namespace", name)
        mine = live is not None and (live["metadata"].get("annotations") or {}).get("openshift.io/requester") == self.user
        if live is None or not mine:
            message = f'projects.project.openshift.io "{name}" is forbidden: User "{self.user}" cannot {method.lower()} resource "projects"'
            return 403, {"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": message}
        if method == "DELETE":
            admin.delete("v1", "Namespace", name, propagation="Background")
        return 200, {**live, "apiVersion": "project.openshift.io/v1", "kind": "Project"}

    # ---- OAuth -------------------------------------------------------------------------------------------------------

    def authorize(self, header: str) -> str:
        """A code for the right password; empty for a wrong one."""
        given = base64.b64decode(header.removeprefix("Basic ")).decode() if header.startswith("Basic ") else ""
        if given != f"developer:{self.password}":
            return ""
        code = secrets.token_urlsafe(16)
        self.codes.add(code)
        return code

    def token(self, code: str) -> str:
        """A token for a code, once."""
        self.codes.remove(code)
        self.issued.append(f"sha256~{secrets.token_urlsafe(32)}")
        return self.issued[-1]

    def valid(self, token: str) -> bool:
        """Whether a token is accepted."""
        return token in self.issued and token not in self.revoked


class _FrontHandler(_Handler):
    recorder: Front

    def _pass_on(self) -> None:
        front, path = self.recorder, urlsplit(self.path).path
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if path.startswith("/oauth/") or path == "/.well-known/oauth-authorization-server":
            self._oauth(path)
            return
        if not front.valid(token):
            self._answer(401, {"kind": "Status", "status": "Failure", "reason": "Unauthorized", "code": 401, "message": "Unauthorized"})
            return
        if path.startswith(TOKENS):
            self._body()
            if path.rpartition("/")[2] == object_name(token):
                front.revoked.append(token)
            self._answer(200, {"kind": "Status", "status": "Success"})
        elif path == f"{PROJECTS}/projectrequests":
            front.note(self.command, self.path, 201)
            self._answer(*front.request_project(json.loads(self._body())))
        elif path.startswith(f"{PROJECTS}/projects/"):
            self._body()
            self._answer(*front.project(self.command, path.rpartition("/")[2]))
        elif path == PROJECTS:
            kinds = [("projects", "Project"), ("projectrequests", "ProjectRequest")]
            listed = [{"name": name, "kind": kind, "namespaced": False, "verbs": ["create", "delete", "get", "list"]} for name, kind in kinds]
            self._answer(200, {"kind": "APIResourceList", "groupVersion": "project.openshift.io/v1", "resources": listed})
        else:
            self.headers.replace_header("Authorization", f"Bearer {front.account[2]}")
            if path == "/apis":
                self._groups()
            else:
                super()._pass_on()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _answer(self, status: int, document: dict[str, Any], **headers: str) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _groups(self) -> None:
        front = self.recorder
        upstream = http.client.HTTPSConnection(*front.target, context=front.tls, timeout=60)
        upstream.request("GET", "/apis", headers={"Authorization": f"Bearer {front.account[2]}", "Accept": "application/json"})
        document = json.loads(upstream.getresponse().read())
        upstream.close()
        there = {group["name"] for group in document["groups"]}
        # Of those that are not there, only projects have a version here: who lists all kinds looks at each group's.
        document["groups"] += [{"name": name, "versions": []} for name in GROUPS if name not in there]
        self._answer(200, document)

    def _oauth(self, path: str) -> None:
        front = self.recorder
        if path == "/oauth/authorize":
            code = front.authorize(self.headers.get("Authorization", ""))
            if code:
                self._answer(302, {}, Location=f"{front.url}/oauth/token/implicit?code={code}&state=1")
            else:
                self._answer(401, {}, **{"WWW-Authenticate": 'Basic realm="openshift"'})
        elif path == "/oauth/token":
            (code,) = parse_qs(self._body().decode())["code"]
            self._answer(200, {"access_token": front.token(code), "token_type": "Bearer", "expires_in": 86400})
        else:
            endpoints = {"issuer": front.url, "authorization_endpoint": f"{front.url}/oauth/authorize", "token_endpoint": f"{front.url}/oauth/token"}
            self._answer(200, endpoints)


class Router(threading.Thread):
    """Plays the router for the Routes of a namespace: gives them a host, as OpenShift's API server does, and admits or refuses them.

    Attributes:
        refuses: reason and message by which it refuses all Routes; None to admit them.
    """

    def __init__(self, cluster: Cluster, namespace: str, domain: str) -> None:
        super().__init__(daemon=True)
        self.cluster, self.namespace, self.domain = cluster, namespace, domain
        self.refuses: tuple[str, str] | None = None
        self.done = threading.Event()

    def run(self) -> None:
        """Look at them twice a second."""
        while not self.done.wait(0.5):
            for route in self.cluster.list(ROUTE, "Route", self.namespace):
                try:
                    self._serve(route)
                except (Conflict, NotFound):
                    continue  # somebody changed it meanwhile: the next look has it

    def _serve(self, route: dict[str, Any]) -> None:
        name, host = route["metadata"]["name"], route["spec"].get("host")
        if not host:
            host = f"{name}-{self.namespace}.{self.domain}"
            self.cluster.patch(ROUTE, "Route", name, self.namespace, {"spec": {"host": host}})
        condition = {"type": "Admitted", "status": "True"}
        if self.refuses:
            condition = {"type": "Admitted", "status": "False", "reason": self.refuses[0], "message": self.refuses[1]}
        entry = {"host": host, "routerName": "default", "wildcardPolicy": "None", "conditions": [condition]}
        if (route.get("status") or {}).get("ingress") != [entry]:
            path = f"/apis/{ROUTE}/namespaces/{self.namespace}/routes/{name}/status"
            body = {"status": {"ingress": [entry]}}
            self.cluster.request("PATCH", path, body=body, content_type="application/merge-patch+json")
