# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can go wrong between us and an API server."""

from __future__ import annotations

import re
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
