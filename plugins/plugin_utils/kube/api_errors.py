# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of connections and of API servers, each explained with its remedy."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
from collections.abc import Mapping
from typing import Any

from ..base import foreign_data
from ..base.errors import ClusterError


class Unreachable(ClusterError):
    """No answer from the API server: name, route, port, TLS or time.

    C(unsure): it was a write that is not repeated, and may have been carried out.
    """

    unsure = False


class TooLarge(Unreachable):
    """The answer exceeds a limit: no API server gives such a one."""


class AuthError(ClusterError):
    """The auth options, a kubeconfig or an exec plugin do not lead to a usable connection."""


class Unauthorized(ClusterError):
    """The API server does not accept our credentials (401)."""


class ApiError(ClusterError):
    """The API server refused a request.

    C(status) is the HTTP code, C(reason) and C(details) are those of the C(Status) object, C(text) its message.
    """

    def __init__(self, cluster: str, action: str, status: int, body: Mapping[str, Any]) -> None:
        self.status = status
        self.reason = foreign_data.cleaned(str(body.get("reason") or ""))
        self.details = _mapping(body.get("details"))
        self.text = foreign_data.cleaned(str(body.get("message") or "")) or f"HTTP {status}"
        super().__init__(f"{cluster}: {action}: {self.text}")


class ExecBroken(ApiError):
    """An exec ended with an error of the kubelet or of the container runtime, so whether the command ran to its end is not known."""


class Unavailable(ApiError):
    """500, 502, 503 or 504: the API server, or what is before it, cannot answer now. C(unsure): see C(Unreachable)."""

    unsure = False


class NotFound(ApiError):
    """404: no such object."""


class NotServed(NotFound):
    """404: the API server does not serve this kind (its CRD is missing)."""


class Conflict(ApiError):
    """409: the object was changed meanwhile, another manager owns the field, or the name is taken."""


class Invalid(ApiError):
    """422: the object breaks a rule of its schema, or changes a field that cannot change."""


class Forbidden(ApiError):
    """403. C(verb), C(resource), C(namespace) name the missing right, if it is one (not a quota or a webhook)."""

    _RIGHT = re.compile(
        r'User "(?P<user>[^"]*)" cannot (?P<verb>\S+) resource "(?P<resource>[^"]*)" in API group "(?P<group>[^"]*)"'
        r'(?: in the namespace "(?P<namespace>[^"]*)")?'
    )

    def __init__(self, cluster: str, action: str, status: int, body: Mapping[str, Any]) -> None:
        super().__init__(cluster, action, status, body)
        right = self._RIGHT.search(self.text)
        self.user = right["user"] if right else ""
        self.verb = right["verb"] if right else ""
        self.resource = right["resource"] if right else ""
        self.group = right["group"] if right else ""
        self.namespace = (right["namespace"] or "") if right else ""


ERRORS: dict[int, type[ApiError]] = {
    403: Forbidden, 404: NotFound, 409: Conflict, 422: Invalid, **dict.fromkeys((500, 502, 503, 504), Unavailable)
}  # fmt: skip


def status_of(data: bytes) -> dict[str, Any]:
    """The Status object of an error answer; proxies and gateways send other things."""
    try:
        body = foreign_data.read_json(data)
    except ValueError:
        body = None
    if isinstance(body, dict):
        return {**body, "message": str(body.get("message") or ""), "details": _mapping(body.get("details"))}
    return {"message": foreign_data.cleaned(data[:1000].decode("utf-8", "replace"), 300)}


def _mapping(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


with contextlib.suppress(ImportError):  # reported by resolve()
    from urllib3.exceptions import (
        ConnectTimeoutError,
        NewConnectionError,
        ProtocolError,
        ProxyError,
        ReadTimeoutError,
        SSLError,
    )


def nothing_sent(error: BaseException) -> bool:
    """Did it fail before the request could have reached the API server?

    urllib3 calls some errors of an established tunnel a ProxyError too, so its word alone is not enough.
    """
    if isinstance(error, ProxyError):
        error = error.original_error
        if "Tunnel connection failed" in str(error):
            return True
    return isinstance(error, (NewConnectionError, ConnectTimeoutError))


def worth_repeating(error: BaseException) -> bool:
    """Certificates and unknown names do not change within a second."""
    cause = _root(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return False
    if isinstance(cause, socket.gaierror):
        return cause.errno == socket.EAI_AGAIN
    return not isinstance(error, SSLError) or isinstance(cause, (ConnectionError, ssl.SSLEOFError))


def _root(error: BaseException) -> BaseException:
    """The exception at the bottom of what urllib3 wrapped."""
    seen = set()
    while id(error) not in seen:
        seen.add(id(error))
        inner = getattr(error, "original_error", None) or getattr(error, "reason", None)
        if not isinstance(inner, BaseException):
            inner = next((arg for arg in error.args if isinstance(arg, BaseException)), None)
        inner = inner or error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if inner is None:
            break
        error = inner
    return error


def explain(error: BaseException, where: str, through: str, host: str, timeout: float) -> str:
    cause = _root(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return (
            f"the certificate of {where}{through} is not trusted: {cause.verify_message}. "
            "Set the cluster's CA (ca_cert, or certificate-authority-data in the kubeconfig), "
            "or check that the address is correct."
        )
    if isinstance(cause, ssl.SSLError):
        return (
            f"no TLS connection to {where}{through}: {one_line(cause)}. "
            "Check that the client certificate is valid, and that this is the port of the API server."
        )
    if isinstance(cause, socket.gaierror) or type(error).__name__ == "NameResolutionError":
        name = host if not through else f"{host} (or the proxy)"
        return f"the name {name} of {where}{through} cannot be resolved: {one_line(cause)}. Check the server address and DNS."
    if isinstance(cause, ConnectionRefusedError):
        return f"{where}{through} refuses connections. Check that it is running, and that its address and port are correct."
    timed_out = isinstance(error, (ConnectTimeoutError, ReadTimeoutError)) or isinstance(cause, TimeoutError)
    if timed_out and not (isinstance(error, NewConnectionError) and not isinstance(cause, TimeoutError)):
        if isinstance(error, ReadTimeoutError) or type(error).__name__ == "WebSocketTimeoutException":
            return (
                f"{where}{through} accepted the connection and did not answer within {timeout:g} s. It, or a proxy on the path, is slow or "
                "overloaded: run again, or wait longer for each answer (flower_api_timeout, in seconds)."
            )
        return f"no connection from {where}{through}: timeout. Check the route to it and the firewalls on the path."
    if isinstance(error, ProtocolError) or isinstance(cause, ConnectionError):
        return (
            f"{where}{through} closed the connection: {one_line(cause)}. The request may have been processed. It is safe to run again."
        )
    if isinstance(error, ProxyError) or "Tunnel connection failed" in str(cause):
        return f"{where} cannot be reached{through}: {one_line(cause)}. Check proxy, proxy_headers and no_proxy."
    why = (cause.strerror if isinstance(cause, OSError) else None) or one_line(cause)
    return (
        f"{where}{through} cannot be reached: {why}. Check the route from this machine to it, and the address (flower_context, "
        "flower_kubeconfig or flower_auth)."
    )


def one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
