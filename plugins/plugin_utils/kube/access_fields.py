# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check what may be in a header, a URL or a kubeconfig entry before the HTTP library sees it. Pure.

HTTP libraries print values that they reject, tokens included. So everything that can hold a credential is checked here first,
and no message shows a value.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit

from .api_errors import AuthError

PROXY_SCHEMES = ("http", "https", "socks4", "socks4a", "socks5", "socks5h")

_TEXT, _TEXTS, _LIST, _MAPPING, _BOOL = "text", "a list of text", "a list", "a mapping", "true or false"
_LISTS = "a mapping of lists of text"
_TYPES: dict[str, Callable[[Any], bool]] = {
    _TEXT: lambda value: isinstance(value, str),
    _LIST: lambda value: isinstance(value, list),
    _TEXTS: lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
    _MAPPING: lambda value: isinstance(value, Mapping),
    _LISTS: lambda value: isinstance(value, Mapping) and all(_TYPES[_TEXTS](one) for one in value.values()),
    _BOOL: lambda value: isinstance(value, bool),
}


def _fields(kinds: Mapping[str, str]) -> dict[str, str]:
    return {name: kind for kind, names in kinds.items() for name in names.split()}


#: All fields of the entries of a kubeconfig and their types (client-go, tools/clientcmd/api/v1/types.go). They are read here or by the
#: `kubernetes` package.
FIELDS = {
    "context": _fields({_TEXT: "cluster user namespace", _LIST: "extensions"}),
    "cluster": _fields({
        _TEXT: "server certificate-authority certificate-authority-data proxy-url tls-server-name",
        _BOOL: "insecure-skip-tls-verify disable-compression", _LIST: "extensions",
    }),
    "user": _fields({
        _TEXT: "token tokenFile username password client-certificate client-certificate-data client-key client-key-data as as-uid",
        _TEXTS: "as-groups", _LISTS: "as-user-extra", _MAPPING: "exec auth-provider", _LIST: "extensions",
    }),
    "exec": _fields({_TEXT: "command apiVersion interactiveMode installHint", _LIST: "args env", _BOOL: "provideClusterInfo"}),
}  # fmt: skip
#: Those that have no effect here, and why. The extensions of a cluster are for exec plugins.
UNUSED = {
    "namespace": "variables of the roles name the namespaces",
    "disable-compression": "compressed answers are never asked for",
    "extensions": "they are for other programs",
}
_TOKEN = "!#$&'*+-.^_`|~"  # characters of a header's name beside letters and digits (RFC 9110, section 5.6.2), without %
_PROVIDERS = ("oidc", "gcp")  # auth providers of the `kubernetes` package


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
    _check_fields(f"{section} '{name}'", body, FIELDS[section])
    if isinstance(body.get("exec"), Mapping):
        _check_fields(f"exec of {section} '{name}'", body["exec"], FIELDS["exec"])


def _check_fields(where: str, body: Mapping[str, Any], fields: Mapping[str, str]) -> None:
    for name, kind in fields.items():
        value = body.get(name)
        if value is not None and not _TYPES[kind](value):
            raise AuthError(f"'{name}' in {where} of the kubeconfig is not {kind}; quote it if it is a number.")


def user_fields(name: Any, user: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a user that have a value, as kubectl takes them: a tokenFile wins over a token, and an empty password is one.

    Raises:
        AuthError: kubectl refuses this user, or nothing here can do what a field asks for; names the user and the field.
    """
    found = with_value(user)
    where = f"user '{name}' of the kubeconfig has"
    plugin, provider = found.get("exec") or {}, found.get("auth-provider")
    login = "username" in found or "password" in found
    if login and "token" in found:
        raise AuthError(f"{where} a 'token' and a 'username' or 'password': kubectl accepts only one of them. Remove the other one.")
    if plugin and provider:
        raise AuthError(f"{where} 'exec' and 'auth-provider': kubectl accepts only one of them. Remove the other one.")
    if provider and provider.get("name") not in _PROVIDERS:
        raise AuthError(f"{where} the 'auth-provider' {provider.get('name')!r}, which is none of {', '.join(_PROVIDERS)}: use an exec plugin instead.")
    if plugin.get("interactiveMode") == "Always":
        raise AuthError(f"{where} an exec plugin with 'interactiveMode' Always: its questions cannot be answered in a playbook. Use a token, or IfAvailable.")
    if "tokenFile" in found:
        found.pop("token", None)
    return {"username": "", "password": "", **found} if login else found


def with_value(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an entry that are neither null nor empty text, which is the same to kubectl."""
    return {name: value for name, value in entry.items() if value not in (None, "")}


def basic(pair: str) -> str:
    """The value of an Authorization header for "user:password".

    Raises:
        AuthError: it contains a control character.
    """
    header("".join(character for character in pair if character <= "\xff"), "username or password")
    return "Basic " + base64.b64encode(pair.encode()).decode()


def impersonation(user: Mapping[str, Any], options: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The headers by which a request is made with the rights of another user.

    C(options) that are set win over fields of the user.

    Raises:
        AuthError: a group, uid or extra field without a user, or a value that a header cannot carry.
    """
    fields = {"impersonate_user": "as", "impersonate_uid": "as-uid", "impersonate_groups": "as-groups", "impersonate_extra": "as-user-extra"}
    name, uid, groups, extra = (options.get(option) or user.get(field) for option, field in fields.items())
    if not name:
        if uid or groups or extra:
            raise AuthError("as-groups, as-uid, as-user-extra or impersonate_groups is set without a user to impersonate (as, impersonate_user).")
        return []
    found = [("Impersonate-User", name), ("Impersonate-Uid", uid), *(("Impersonate-Group", group) for group in groups or [])]
    # client-go, transport/round_trippers.go: what a header's name cannot have is escaped
    found += [(f"Impersonate-Extra-{quote(key, safe=_TOKEN)}", value) for key, values in (extra or {}).items() for value in values]
    return [(key, header(value, "impersonate_user, impersonate_groups or as… of the kubeconfig")) for key, value in found if value]
