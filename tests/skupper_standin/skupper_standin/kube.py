# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""A client of the Kubernetes API with the standard library: one kept connection for requests, one for each watch."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import tempfile
import threading
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .crds import API_VERSION

Object = dict[str, Any]
# kind -> (apiVersion, plural); all are namespaced but those in CLUSTER_WIDE
KINDS = {
    "Site": (API_VERSION, "sites"),
    "Link": (API_VERSION, "links"),
    "Listener": (API_VERSION, "listeners"),
    "MultiKeyListener": (API_VERSION, "multikeylisteners"),
    "Connector": (API_VERSION, "connectors"),
    "AttachedConnector": (API_VERSION, "attachedconnectors"),
    "AttachedConnectorBinding": (API_VERSION, "attachedconnectorbindings"),
    "AccessGrant": (API_VERSION, "accessgrants"),
    "AccessToken": (API_VERSION, "accesstokens"),
    "RouterAccess": (API_VERSION, "routeraccesses"),
    "SecuredAccess": (API_VERSION, "securedaccesses"),
    "Certificate": (API_VERSION, "certificates"),
    "Namespace": ("v1", "namespaces"),
    "Secret": ("v1", "secrets"),
    "ConfigMap": ("v1", "configmaps"),
    "Service": ("v1", "services"),
    "ServiceAccount": ("v1", "serviceaccounts"),
    "Pod": ("v1", "pods"),
    "Deployment": ("apps/v1", "deployments"),
    "Lease": ("coordination.k8s.io/v1", "leases"),
    "Role": ("rbac.authorization.k8s.io/v1", "roles"),
    "RoleBinding": ("rbac.authorization.k8s.io/v1", "rolebindings"),
    "CustomResourceDefinition": ("apiextensions.k8s.io/v1", "customresourcedefinitions"),
}
CLUSTER_WIDE = ("Namespace", "CustomResourceDefinition")
MANAGER = "skupper-controller"  # field manager of server-side apply
TIMEOUT = 10.0  # seconds


class ApiError(Exception):
    """The API server refused; ``status`` is the HTTP status, ``reason`` Kubernetes' word for it."""

    def __init__(self, status: int, text: str) -> None:
        try:
            answer = json.loads(text)
            self.reason, self.message = str(answer.get("reason", "")), str(answer.get("message", ""))
        except ValueError:
            self.reason, self.message = "", text[:500]
        super().__init__(f"{status} {self.message}")
        self.status = status


def path_of(kind: str, namespace: str | None = None, name: str | None = None, below: str = "") -> str:
    """Path of an object, of a namespace's list, or of a cluster's."""
    version, plural = KINDS[kind]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    space = f"/namespaces/{namespace}" if namespace and kind not in CLUSTER_WIDE else ""
    return f"{root}{space}/{plural}{f'/{name}' if name else ''}{f'/{below}' if below else ''}"


def _entry(entries: list[Object], name: str, part: str) -> Object:
    for entry in entries:
        if entry["name"] == name:
            return entry[part]
    raise ValueError(f"the kubeconfig has no {part} {name!r}")


def load(path: Path) -> Object:
    """A kubeconfig; JSON, or YAML where PyYAML is there."""
    text = path.read_text(encoding="utf-8")
    try:
        return json.loads(text)
    except ValueError:
        import yaml

        return yaml.safe_load(text)


class Client:
    """One cluster, by a context of a kubeconfig (client certificate or token)."""

    def __init__(self, kubeconfig: Object, context: str) -> None:
        chosen = _entry(kubeconfig["contexts"], context, "context")
        cluster = _entry(kubeconfig["clusters"], chosen["cluster"], "cluster")
        user = _entry(kubeconfig["users"], chosen["user"], "user")
        url = urllib.parse.urlsplit(cluster["server"])
        self.host, self.port = url.hostname or "", url.port or 443
        self._headers = {"Accept": "application/json"}
        if "token" in user:
            self._headers["Authorization"] = f"Bearer {user['token']}"
        with tempfile.TemporaryDirectory() as folder:

            def file(part: Object, key: str) -> str | None:
                if part.get(f"{key}-data"):
                    target = Path(folder, key)
                    target.touch(0o600)
                    target.write_bytes(base64.b64decode(part[f"{key}-data"]))
                    return str(target)
                return part.get(key)

            self._tls = ssl.create_default_context(cafile=file(cluster, "certificate-authority"))
            certificate = file(user, "client-certificate")
            if certificate:
                self._tls.load_cert_chain(certificate, file(user, "client-key"))
        self._connection: http.client.HTTPSConnection | None = None
        self._lock = threading.Lock()

    def _connect(self, timeout: float) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=self._tls)

    def request(self, method: str, path: str, body: Object | None = None, kind: str = "application/json") -> Object:
        """One request and its answer. Raises ApiError, or OSError if the server cannot be reached."""
        data = None if body is None else json.dumps(body)
        with self._lock:
            for fresh in (False, True):
                if self._connection is None or fresh:
                    self._connection = self._connect(TIMEOUT)
                    fresh = True
                try:
                    self._connection.request(method, path, data, {**self._headers, "Content-Type": kind})
                    response = self._connection.getresponse()
                    text = response.read().decode(errors="replace")
                    break
                except (OSError, http.client.HTTPException) as error:
                    self._connection.close()
                    self._connection = None
                    if fresh:  # not merely a kept connection that the server has closed
                        raise OSError(f"{self.host}: {error}") from error
        if response.status >= 400:
            raise ApiError(response.status, text)
        return json.loads(text)

    def get(self, kind: str, namespace: str | None, name: str) -> Object | None:
        """One object, None if there is none."""
        try:
            return self.request("GET", path_of(kind, namespace, name))
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def list(self, kind: str, query: str = "") -> tuple[list[Object], str]:
        """All objects of a kind in the cluster, and the revision of the list."""
        answer = self.request("GET", path_of(kind) + (f"?{query}" if query else ""))
        version = KINDS[kind][0]
        items = [{**item, "apiVersion": version, "kind": kind} for item in answer["items"]]
        return items, answer["metadata"]["resourceVersion"]

    def create(self, item: Object) -> Object:
        """POST."""
        return self.request("POST", path_of(item["kind"], item["metadata"].get("namespace")), item)

    def replace(self, item: Object, below: str = "") -> Object:
        """PUT of the whole object, or of its ``below`` ("status")."""
        data = item["metadata"]
        return self.request("PUT", path_of(item["kind"], data.get("namespace"), data["name"], below), item)

    def apply(self, item: Object) -> Object:
        """Server-side apply."""
        data = item["metadata"]
        path = path_of(item["kind"], data.get("namespace"), data["name"])
        return self.request("PATCH", f"{path}?fieldManager={MANAGER}&force=true", item, "application/apply-patch+yaml")

    def delete(self, kind: str, namespace: str | None, name: str) -> None:
        """DELETE; fine if there is none."""
        try:
            self.request("DELETE", path_of(kind, namespace, name))
        except ApiError as error:
            if error.status != 404:
                raise

    def watch(self, kind: str, query: str, since: str, seconds: int) -> Iterator[Object]:
        """Events (type, object) after the revision ``since``, for up to ``seconds``. Raises ApiError 410 if too old."""
        connection = self._connect(seconds + TIMEOUT)
        try:
            words = f"watch=true&allowWatchBookmarks=true&resourceVersion={since}&timeoutSeconds={seconds}"
            connection.request("GET", f"{path_of(kind)}?{words}{f'&{query}' if query else ''}", None, self._headers)
            response = connection.getresponse()
            if response.status >= 400:
                raise ApiError(response.status, response.read().decode(errors="replace"))
            for line in response:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise ApiError(int(event["object"].get("code", 500)), json.dumps(event["object"]))
                yield event
        except http.client.HTTPException as error:
            raise OSError(f"{self.host}: {error}") from error
        finally:
            connection.close()
