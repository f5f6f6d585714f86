# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check what may be in a header, a URL or a kubeconfig entry before the HTTP library sees it. Pure.

HTTP libraries print values that they reject, tokens included. So everything that can hold a credential is checked here first,
and no message shows a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit

from .api_errors import AuthError

PROXY_SCHEMES = ("http", "https", "socks4", "socks4a", "socks5", "socks5h")

_TEXT, _LIST, _MAPPING, _BOOL = "text", "a list", "a mapping", "true or false"
_TYPES: dict[str, Any] = {_TEXT: str, _LIST: list, _MAPPING: Mapping, _BOOL: bool}

# Fields of kubeconfig entries that are read here or by the `kubernetes` package (client-go, tools/clientcmd/api/v1/types.go).
_FIELDS: dict[str, dict[str, str]] = {
    "context": {"cluster": _TEXT, "user": _TEXT, "namespace": _TEXT},
    "cluster": {
        "server": _TEXT,
        "certificate-authority": _TEXT,
        "certificate-authority-data": _TEXT,
        "insecure-skip-tls-verify": _BOOL,
        "proxy-url": _TEXT,
        "tls-server-name": _TEXT,
    },
    "user": {
        "token": _TEXT,
        "tokenFile": _TEXT,
        "username": _TEXT,
        "password": _TEXT,
        "client-certificate": _TEXT,
        "client-certificate-data": _TEXT,
        "client-key": _TEXT,
        "client-key-data": _TEXT,
        "exec": _MAPPING,
        "auth-provider": _MAPPING,
    },
}
_EXEC = {"command": _TEXT, "apiVersion": _TEXT, "args": _LIST, "env": _LIST}


def token(value: str, what: str) -> str:
    """A bearer token without the white space around it, with which files and command output often end.

    Args:
        what: where it comes from, for the message.

    Raises:
        AuthError: it is empty, or contains characters that are not allowed in a token (RFC 6750, section 2.1: visible ASCII characters).
    """
    stripped = value.strip()
    if not stripped:
        raise AuthError(f"{what} is empty.")
    if not all("!" <= character <= "~" for character in stripped):
        raise AuthError(
            f"{what} contains white space, a control character or a character that is not ASCII, which is not allowed in a token (the value is "
            "not shown). Set the token only."
        )
    return stripped


def header(value: str, what: str) -> str:
    """Text for a header or the user and password of one.

    Raises:
        AuthError: it contains a control character or one beyond Latin-1, which HTTP headers cannot carry.
    """
    if any(character < " " or "\x7f" <= character <= "\x9f" or character > "\xff" for character in value):
        raise AuthError(
            f"{what} contains a control character or one that is not allowed in a header (the value is not shown). Does it end in a newline?"
        )
    return value


def server_url(value: Any, what: str) -> str:
    """The address of an API server, without white space around it and slashes behind it.

    Raises:
        AuthError: it is not an http or https URL, or contains a user name or password, which have their own options.
    """
    return urlunsplit(_url(value, what, ("http", "https"), "https://host:port")).rstrip("/")


def proxy_url(value: Any, what: str) -> tuple[str, str]:
    """A proxy's URL without credentials, and its "user:password" as it is written there, "" if there is none.

    Raises:
        AuthError: it is not the URL of a proxy.
    """
    given = value if not isinstance(value, str) or "://" in value else f"http://{value.strip()}"
    parts = _url(given, what, PROXY_SCHEMES, "http://[user:password@]host:port", credentials=True)
    pair, at, place = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=place)), pair if at else ""


def with_credentials(url: str, pair: str) -> str:
    """A proxy's URL with its "user:password", for the libraries that take them from there only."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{quote(pair, safe=':%')}@{parts.netloc}")) if pair else url


def _url(value: Any, what: str, schemes: tuple[str, ...], form: str, *, credentials: bool = False) -> SplitResult:
    if not isinstance(value, str):
        raise AuthError(f"{what} is not text: write {form}.")
    text = value.strip()
    if any(character <= " " or character >= "\x7f" for character in text):
        raise AuthError(
            f"{what} contains white space, a control character or a character that is not ASCII: write {form}. It is not shown, "
            "because it may contain a password."
        )
    try:
        parts = urlsplit(text)
        usable = bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise AuthError(
            f"{what} is not a URL: write {form}. It is not shown, because it may contain a password."
        ) from None
    if parts.scheme not in schemes or not usable:
        raise AuthError(
            f"{what} is not a URL of {', '.join(schemes)}: write {form}. It is not shown, because it may contain a password."
        )
    if "@" in parts.netloc and not credentials:
        raise AuthError(
            f"{what} contains a user name or password (not shown), which is not sent from there: remove it, and set username and "
            "password, or a token, as separate options."
        )
    return parts


def check_entry(section: str, name: Any, entry: Any) -> None:
    """Refuse an entry of a kubeconfig whose fields are of the wrong type.

    Args:
        section: C(context), C(cluster) or C(user).

    Raises:
        AuthError: names the entry and the field, not the value.
    """
    body = entry.get(section) if isinstance(entry, Mapping) else None
    if body is None and section == "user":
        return
    if not isinstance(body, Mapping):
        raise AuthError(f"the {section} '{name}' of the kubeconfig is not a mapping.")
    _check_fields(f"{section} '{name}'", body, _FIELDS[section])
    if isinstance(body.get("exec"), Mapping):
        _check_fields(f"exec of {section} '{name}'", body["exec"], _EXEC)


def _check_fields(where: str, body: Mapping[str, Any], fields: Mapping[str, str]) -> None:
    for field, kind in fields.items():
        value = body.get(field)
        if value is not None and not isinstance(value, _TYPES[kind]):
            raise AuthError(f"'{field}' in {where} of the kubeconfig is not {kind}; quote it if it is a number.")
