# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the auth options of kubernetes.core to what one connection needs: address, headers, TLS context, proxy.

The names, aliases and environment variables of the options are those of C(kubernetes.core) (its tables are used, not copied).

No key stays on disk. The C(kubernetes) package writes inline keys to temporary files and leaves them to C(atexit), which the forked workers
of Ansible never run. Here they are in a directory of mode 0700, in memory where there is /dev/shm, for as long as it takes to load them
into an C(SSLContext).
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import shutil
import ssl
import tempfile
import urllib.request
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

import yaml

from ansible_collections.kubernetes.core.plugins.module_utils.args_common import (
    AUTH_ARG_MAP,
    AUTH_ARG_SPEC,
    AUTH_PROXY_HEADERS_SPEC,
)

from ..base.formats import is_path
from . import access_fields
from . import kubeconfig as kubeconfigs
from .api_errors import AuthError, one_line

try:
    import urllib3
    from kubernetes.config import incluster_config
    from kubernetes.config.config_exception import ConfigException

    IMPORT_ERROR: ImportError | None = None
except ImportError as error:  # reported by resolve(), with the remedy
    IMPORT_ERROR = error

#: Argument spec of the auth options, for plugins that talk to a cluster.
AUTH_ARGS: dict[str, dict[str, Any]] = deepcopy(AUTH_ARG_SPEC)

_ENV_LISTS = ("impersonate_groups",)
_SHM = "/dev/shm"

# OpenSSL loads its algorithms with the first context. Done here, in the parent of the forks, it is done once.
ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@dataclass
class Access:
    """What one connection needs.

    C(server) is a URL without trailing slash; C(headers) are (name, value) pairs, a name may occur more than once;
    C(renewable) states that a new request may return a fresh token (exec plugin, token file, auth provider); C(proxy) has no
    credentials, C(proxy_credentials) are its "user:password".
    """

    name: str
    server: str
    headers: list[tuple[str, str]] = field(default_factory=list)
    tls: ssl.SSLContext | None = None
    tls_server_name: str | None = None
    proxy: str | None = None
    proxy_headers: dict[str, str] = field(default_factory=dict)
    proxy_credentials: str = ""
    #: whether there are credentials: a token, a password or a client certificate
    identified: bool = True
    renewable: bool = False
    source: str = ""


def options_of(auth: Mapping[str, Any]) -> dict[str, Any]:
    """Complete C(auth) from the environment, under the names and aliases of kubernetes.core.

    Returns only options that have a value. Booleans and lists from the environment are converted like
    kubernetes.core does it (C(0)/C(false)/C(no) are false; lists are comma-separated).
    """
    names = dict.fromkeys(AUTH_ARG_MAP.values()) | dict.fromkeys(AUTH_ARGS)
    found: dict[str, Any] = {}
    for name in names:
        spec = AUTH_ARGS[name]
        spellings = [name, *spec.get("aliases", [])]
        value = next((auth[one] for one in spellings if auth.get(one) is not None), None)
        if value is None:
            value = _from_environment(name, spellings, spec)
        if value is not None and value != {} and value != []:
            found[name] = value
    return found


def _from_environment(name: str, spellings: list[str], spec: Mapping[str, Any]) -> Any:
    if name == "proxy_headers":
        return {
            key: os.environ[variable]
            for key in AUTH_PROXY_HEADERS_SPEC
            if (variable := f"K8S_AUTH_PROXY_HEADERS_{key.upper()}") in os.environ
        }
    text = next((os.environ[v] for s in spellings if os.environ.get(v := f"K8S_AUTH_{s.upper()}")), None)
    if text is None:
        return None
    if spec.get("type") == "bool":
        return text.lower() not in ("0", "false", "no")
    if name in _ENV_LISTS:
        return [part for part in text.split(",") if part]
    return text


def resolve(auth: Mapping[str, Any]) -> Access:
    """Convert auth options to an C(Access). Leaves no file behind, in any case.

    Order: C(host) with a token, a password or a client certificate is used alone; else a kubeconfig (given, from
    C(K8S_AUTH_KUBECONFIG), C(KUBECONFIG) or C(~/.kube/config)), whose values single options override; else the
    service account of the pod we run in. Raises C(AuthError).

    What a kubeconfig of the environment has for one server is not sent to another one: a C(host) whose token is an empty
    variable would get the token of whatever cluster is the current context.
    """
    if IMPORT_ERROR is not None:
        raise AuthError(
            f"The Python package 'kubernetes' is needed on the control node ({IMPORT_ERROR}). "
            "Install it into the environment that runs ansible-playbook."
        )
    options = options_of(auth)
    source = _source_of(options)
    bare = bool(auth.get("host")) and not auth.get("kubeconfig") and not auth.get("context")
    with kubeconfigs.LOCK:
        key_dir = tempfile.mkdtemp(prefix="flower-tls-", dir=_SHM if os.access(_SHM, os.W_OK | os.X_OK) else None)
        try:
            return _resolve(options, source, key_dir, bare=bare)
        except ConfigException as error:
            raise AuthError(f"Cannot use {source}: {error}") from error
        except yaml.MarkedYAMLError as error:
            # without the text around the position, which may contain a credential
            where = f" at line {error.problem_mark.line + 1}" if error.problem_mark else ""
            raise AuthError(f"Cannot read {source}: {error.problem or 'it is not YAML'}{where}") from None
        except (OSError, yaml.YAMLError, ValueError) as error:
            raise AuthError(f"Cannot read {source}: {one_line(error)}") from error
        except (AttributeError, KeyError, TypeError) as error:
            # of the package's loader, which takes the form of every entry for granted
            raise AuthError(f"Cannot read {source}: an entry does not have the form of a kubeconfig's ({type(error).__name__}).") from error
        finally:
            shutil.rmtree(key_dir, ignore_errors=True)
            kubeconfigs.forget_files_below(key_dir)


def _source_of(options: Mapping[str, Any]) -> str:
    kubeconfig = options.get("kubeconfig") or os.environ.get("KUBECONFIG") or "~/.kube/config"
    where = "the kubeconfig" if isinstance(kubeconfig, Mapping) else f"kubeconfig {kubeconfig}"
    return f"{where}, context {options['context']}" if options.get("context") else where


def _resolve(options: dict[str, Any], source: str, key_dir: str, *, bare: bool) -> Access:
    """See C(resolve). C(bare): the host is given, and neither a kubeconfig nor a context is."""
    settings = _Settings()
    name = ""
    kubeconfig = options.get("kubeconfig") or os.environ.get("KUBECONFIG") or "~/.kube/config"
    explicit = "kubeconfig" in options or "context" in options or bool(os.environ.get("KUBECONFIG"))
    if stands_alone(options) or ("host" in options and not explicit and not os.path.exists(os.path.expanduser(kubeconfig))):
        source = "the option host"
    elif explicit or os.path.exists(os.path.expanduser(kubeconfig)):
        name, loader = kubeconfigs.load(kubeconfig, options, key_dir)
        loader.load_and_set(settings)
        if bare and (settings.host or "").rstrip("/") != str(options["host"]).strip().rstrip("/"):
            raise AuthError(
                f"The option host (flower_auth) has no credentials with it, and those of {source} are of context {name}, another server: they are not "
                "sent. Check that the variable of the token (api_key) is not empty. To use that kubeconfig, set the context (flower_context)."
            )
    else:
        name, source = "in-cluster", "the service account of this pod"
        try:
            incluster_config.load_incluster_config(settings)
        except ConfigException as error:
            raise AuthError(
                "No cluster given: no kubeconfig, context or host in the task, in the host's variables "
                "(flower_kubeconfig, flower_context, flower_auth), in K8S_AUTH_* or KUBECONFIG; "
                "~/.kube/config does not exist and this is not a pod."
            ) from error
        settings.renewable = True
    settings.override(options)
    if not settings.host:
        raise AuthError(f"{source} has no server.")
    server = access_fields.server_url(settings.host, "the option host" if "host" in options else f"the server in {source}")
    access = Access(
        name=name or server,
        server=server,
        headers=_headers(settings, options),
        tls_server_name=settings.tls_server_name,
        renewable=settings.renewable,
        source=source,
        identified=bool(settings.cert_file or settings.basic or any(settings.api_key.values())),
    )
    if access.server.startswith("https:"):
        access.tls = _tls_context(settings)
    _set_proxy(access, settings, options)
    return access


def stands_alone(options: Mapping[str, Any]) -> bool:
    """The rule of kubernetes.core: these are enough to authenticate, nothing else is loaded."""
    if "host" not in options:
        return False
    return (
        "api_key" in options
        or ("username" in options and "password" in options)
        or ("client_cert" in options and "client_key" in options)
    )


@dataclass
class _Settings:
    """Receives what the loaders of the C(kubernetes) package set on a C(Configuration), and what C(kubeconfigs.Loader) adds."""

    host: str | None = None
    api_key: dict[str, str] = field(default_factory=dict)
    ssl_ca_cert: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    verify_ssl: bool = True
    tls_server_name: str | None = None
    proxy: str | None = None
    refresh_api_key_hook: Any = None
    basic: str | None = None
    user: Mapping[str, Any] = field(default_factory=dict)
    renewable: bool = False
    token_source: str = "the token"

    def override(self, options: Mapping[str, Any]) -> None:
        """Single options take precedence over the kubeconfig."""
        self.host = options.get("host", self.host)
        self.verify_ssl = options.get("validate_certs", self.verify_ssl)
        self.proxy = options.get("proxy", self.proxy)
        if "ca_cert" in options:
            self.ssl_ca_cert = os.path.expanduser(options["ca_cert"])
        if "client_cert" in options:
            self.cert_file = os.path.expanduser(options["client_cert"])
            self.key_file = None
        if "client_key" in options:
            self.key_file = os.path.expanduser(options["client_key"])
        if "api_key" in options:
            self.api_key = {"BearerToken": f"Bearer {options['api_key']}"}
            self.basic = None
            self.token_source = "the token of the option api_key"
            self.renewable = False
        elif "username" in options and "password" in options:
            self.api_key = {}
            self.basic = f"{options['username']}:{options['password']}"
            self.renewable = False


def _headers(settings: _Settings, options: Mapping[str, Any]) -> list[tuple[str, str]]:
    headers: list[tuple[str, str]] = []
    for value in settings.api_key.values():
        if value:
            _scheme, _space, token = value.partition(" ")  # "Bearer", or "bearer" in a pod
            headers.append(("Authorization", f"Bearer {access_fields.token(token, settings.token_source)}"))
            break
    if settings.basic:
        headers.append(("Authorization", access_fields.basic(settings.basic)))
    return headers + access_fields.impersonation(settings.user, options)


def _must_be_readable(path: str, what: str) -> None:
    """A missing file is named: what reads it next would not, and the kubeconfig would be blamed for it."""
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        if not is_path(path):  # without the text: it may be a key
            raise AuthError(f"{what} is a text of several lines: set the path of a file that contains it.") from None
        raise AuthError(
            f"{what} cannot be read: {os.path.abspath(path)}: {error.strerror}. A relative path begins at the current folder of Ansible; "
            "for a file beside the inventory begin it with {{ inventory_dir }}/"
        ) from error


def _tls_context(settings: _Settings) -> ssl.SSLContext:
    """A context with just the cluster's CA: loading the system's CAs as well would cost 20 ms in every fork."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if settings.verify_ssl:
        if settings.ssl_ca_cert:
            _must_be_readable(settings.ssl_ca_cert, f"The CA certificate of {settings.host} (ca_cert)")
            try:
                context.load_verify_locations(cafile=settings.ssl_ca_cert)
            except ssl.SSLError as error:
                raise AuthError(f"The CA certificate of {settings.host} cannot be used: {one_line(error)}") from error
        else:
            context.load_default_certs()
    else:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if settings.cert_file:
        _must_be_readable(settings.cert_file, f"The client certificate for {settings.host} (client_cert)")
        if settings.key_file:
            _must_be_readable(settings.key_file, f"The client key for {settings.host} (client_key)")
        try:
            context.load_cert_chain(settings.cert_file, settings.key_file)
        except ssl.SSLError as error:
            raise AuthError(
                f"The client certificate for {settings.host} cannot be used: {one_line(error)}. "
                "Check that the certificate matches the key."
            ) from error
    return context


def _set_proxy(access: Access, settings: _Settings, options: Mapping[str, Any]) -> None:
    """Proxy of the option or the kubeconfig, else of the environment (HTTPS_PROXY, NO_PROXY; never for loopback), as kubectl does it."""
    target = urlsplit(access.server)
    proxy, no_proxy = settings.proxy, options.get("no_proxy")
    if not proxy:
        if _is_loopback(target.hostname or ""):
            return
        environment = urllib.request.getproxies_environment()
        proxy = environment.get(target.scheme)
        no_proxy = no_proxy or environment.get("no")
    if not proxy or (no_proxy and bypasses_proxy(target.hostname or "", target.port, no_proxy)):
        return
    what = "the proxy (option proxy, proxy-url of the kubeconfig, or HTTPS_PROXY)"
    access.proxy, access.proxy_credentials = access_fields.proxy_url(proxy, what)
    given = options.get("proxy_headers", {})
    for name, value in given.items():
        if isinstance(value, str):
            access_fields.header(value, f"proxy_headers.{name}")
    access.proxy_headers = urllib3.util.make_headers(**given)
    if access.proxy_credentials and "proxy-authorization" not in access.proxy_headers:
        user, _colon, password = access.proxy_credentials.partition(":")
        pair = access_fields.header(unquote(f"{user}:{password}"), what)
        access.proxy_headers.update(urllib3.util.make_headers(proxy_basic_auth=pair))


def _is_loopback(host: str) -> bool:
    with contextlib.suppress(ValueError):
        address = ipaddress.ip_address(host)
        return (getattr(address, "ipv4_mapped", None) or address).is_loopback
    return host == "localhost"


def bypasses_proxy(host: str, port: int | None, no_proxy: str) -> bool:
    """Does C(no_proxy) (hosts, domains, addresses, CIDRs, C(*); comma-separated) include this host?"""
    host = host.lower()
    for entry in filter(None, (part.strip().lower() for part in no_proxy.split(","))):
        with contextlib.suppress(ValueError):
            if ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False):
                return True
        name = entry.removeprefix("*").lstrip(".")
        if entry == "*" or name in (host, f"{host}:{port}") or host.endswith(f".{name}"):
            return True
    return False
