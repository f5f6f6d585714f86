# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""A small client of the Kubernetes API: the fleet's own needs, with the standard library only."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..settings import Cluster

FIELD_MANAGER = "fleet"
# Seconds for which a server may say that it cannot answer just now, as it does after a change of definitions.
BUSY_TIMEOUT = 30.0
# kind -> (plural, namespaced), for what the add-ons consist of
KINDS = {
    "Namespace": ("namespaces", False),
    "ServiceAccount": ("serviceaccounts", True),
    "ConfigMap": ("configmaps", True),
    "Secret": ("secrets", True),
    "Service": ("services", True),
    "Deployment": ("deployments", True),
    "DaemonSet": ("daemonsets", True),
    "StatefulSet": ("statefulsets", True),
    "ClusterRole": ("clusterroles", False),
    "ClusterRoleBinding": ("clusterrolebindings", False),
    "Role": ("roles", True),
    "RoleBinding": ("rolebindings", True),
    "StorageClass": ("storageclasses", False),
    "CustomResourceDefinition": ("customresourcedefinitions", False),
    "Pod": ("pods", True),
    "PersistentVolumeClaim": ("persistentvolumeclaims", True),
    "ClusterIssuer": ("clusterissuers", False),
    "GatewayClass": ("gatewayclasses", False),
    "ValidatingWebhookConfiguration": ("validatingwebhookconfigurations", False),
    "MutatingWebhookConfiguration": ("mutatingwebhookconfigurations", False),
    "ClusterManager": ("clustermanagers", False),
    "ManagedCluster": ("managedclusters", False),
}


class ApiError(Exception):
    """The API server refused; ``status`` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Api:
    """One cluster's API server, as its administrator. A connection per request."""

    def __init__(self, cluster: Cluster, pki: Path, *, timeout: float = 20.0) -> None:
        self._host = cluster.address
        self._timeout = timeout
        self._tls = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        self._tls.load_cert_chain(str(pki / "admin.crt"), str(pki / "admin.key"))

    def _open(
        self, method: str, path: str, body: Any, content_type: str, timeout: float
    ) -> tuple[http.client.HTTPSConnection, http.client.HTTPResponse]:
        connection = http.client.HTTPSConnection(self._host, 6443, timeout=timeout, context=self._tls)
        try:
            connection.request(
                method,
                path,
                body.encode() if isinstance(body, str) else body and json.dumps(body),
                {"Content-Type": content_type, "Accept": "application/json"},
            )
            response = connection.getresponse()
            if response.status >= 400:
                raise ApiError(response.status, response.read().decode(errors="replace")[:2000])
        except BaseException:
            connection.close()
            raise
        return connection, response

    def request(self, method: str, path: str, body: Any = None, *, content_type: str = "application/json") -> Any:
        """One request; returns the decoded JSON, or text where the answer is none. Raises ApiError or OSError."""
        end = time.monotonic() + BUSY_TIMEOUT
        while True:
            try:
                connection, response = self._open(method, path, body, content_type, self._timeout)
                break
            except ApiError as error:
                if error.status != 429 or time.monotonic() > end:
                    raise
                time.sleep(0.5)
        try:
            data = response.read()
        except http.client.HTTPException as error:
            raise OSError(str(error)) from error
        finally:
            connection.close()
        return json.loads(data) if data[:1] in (b"{", b"[") else data.decode()

    def get(self, path: str) -> Any:
        """GET; None if there is no such object."""
        try:
            return self.request("GET", path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def apply(self, item: Mapping[str, Any]) -> Any:
        """Server-side apply of one object; returns it as it is then."""
        return self.request(
            "PATCH",
            f"{object_path(item)}?fieldManager={FIELD_MANAGER}&force=true",
            dict(item),
            content_type="application/apply-patch+yaml",
        )

    def apply_text(self, path: str, text: str) -> None:
        """Server-side apply of one object in YAML."""
        where = f"{path}?fieldManager={FIELD_MANAGER}&force=true"
        self.request("PATCH", where, text, content_type="application/apply-patch+yaml")

    def delete(self, path: str) -> bool:
        """DELETE; False if there is no such object."""
        try:
            self.request("DELETE", path)
        except ApiError as error:
            if error.status == 404:
                return False
            raise
        return True

    def patch(self, path: str, body: Mapping[str, Any]) -> None:
        """JSON merge patch."""
        self.request("PATCH", path, dict(body), content_type="application/merge-patch+json")

    def watch(self, path: str, seconds: int) -> Iterator[dict[str, Any]]:
        """Events below ``path`` for up to ``seconds``."""
        joined = "&" if "?" in path else "?"
        connection, response = self._open(
            "GET",
            f"{path}{joined}watch=true&timeoutSeconds={seconds}",
            None,
            "application/json",
            seconds + self._timeout,
        )
        try:
            for line in response:
                yield json.loads(line)
        finally:
            connection.close()


def object_path(item: Mapping[str, Any]) -> str:
    """Path of an object on the API server."""
    plural, namespaced = KINDS[item["kind"]]
    version = item["apiVersion"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    metadata = item["metadata"]
    space = f"/namespaces/{metadata.get('namespace', 'default')}" if namespaced else ""
    return f"{root}{space}/{plural}/{metadata['name']}"
