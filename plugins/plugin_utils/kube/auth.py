# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the auth options of kubernetes.core to what one connection needs: address, headers, TLS context, proxy.

The names, aliases and environment variables of the options are those of C(kubernetes.core) (its tables are used, not
copied). Kubeconfig contexts are resolved by the C(kubernetes) package itself (C(KubeConfigLoader)), so exec
plugins, token files, auth providers, inline data and relative paths behave as they do everywhere else. Two things
differ, on purpose:

* Only the wanted context, its cluster and its user are parsed. A kubeconfig that holds a thousand clusters is several
  megabytes, and each host of a play reads it in its own fork.
* No key stays on disk. C(KubeConfigLoader) writes inline keys to temporary files and leaves them to C(atexit), which
  the forked workers of Ansible never run. Here they live in a directory of mode 0700, in memory where there is
  /dev/shm, for as long as it takes to load them into an C(SSLContext).
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import shutil
import ssl
import tempfile
import threading
import urllib.request
from collections.abc import Callable, Iterator, Mapping
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

from . import access_fields, exec_plugin
from .api_errors import AuthError, one_line
from .kubeconfig import WAY_OUT, pick_context, without_empty

try:
    import urllib3
    from kubernetes.config import incluster_config, kube_config
    from kubernetes.config.config_exception import ConfigException
    from kubernetes.config.exec_provider import ExecProvider

    IMPORT_ERROR: ImportError | None = None
except ImportError as error:  # reported by connect(), with the remedy
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


# The loader of the package remembers its temporary files by content for the whole process: a second thread with the same
# kubeconfig would get a file that the first is about to delete.
_ONE_AT_A_TIME = threading.Lock()


@contextlib.contextmanager
def _others_continue() -> Iterator[None]:
    """Let other threads read their access meanwhile; for what takes long, and at a time when no file has been written."""
    _ONE_AT_A_TIME.release()
    try:
        yield
    finally:
        _ONE_AT_A_TIME.acquire()


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
    bare = bool(auth.get("host")) and not auth.get("kubeconfig") and not auth.get("context")
    with _ONE_AT_A_TIME:
        return _resolve_in_memory(options, bare=bare)


def _resolve_in_memory(options: dict[str, Any], *, bare: bool) -> Access:
    key_dir = tempfile.mkdtemp(prefix="flower-tls-", dir=_memory_dir())
    try:
        return _resolve(options, key_dir, bare=bare)
    except ConfigException as error:
        raise AuthError(f"Cannot use {_source_of(options)}: {error}") from error
    except yaml.MarkedYAMLError as error:
        # without the text around the position, which may contain a credential
        where = f" at line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise AuthError(f"Cannot read {_source_of(options)}: {error.problem or 'it is not YAML'}{where}") from None
    except (OSError, yaml.YAMLError, ValueError) as error:
        raise AuthError(f"Cannot read {_source_of(options)}: {one_line(error)}") from error
    except (AttributeError, KeyError, TypeError) as error:
        # of the package's loader, which takes the form of every entry for granted
        raise AuthError(
            f"Cannot read {_source_of(options)}: an entry does not have the form of a kubeconfig's ({type(error).__name__})."
        ) from error
    finally:
        shutil.rmtree(key_dir, ignore_errors=True)
        _forget_files_below(key_dir)


def _memory_dir() -> str | None:
    """A place in memory for what must be a file; None: where temporary files go."""
    return _SHM if os.access(_SHM, os.W_OK | os.X_OK) else None


def _resolve(options: dict[str, Any], key_dir: str, *, bare: bool) -> Access:
    """See C(resolve). C(bare): the host is given, and neither a kubeconfig nor a context is."""
    settings = _Settings()
    name = ""
    source = "the option host"
    if not stands_alone(options):
        kubeconfig = options.get("kubeconfig") or os.environ.get("KUBECONFIG") or "~/.kube/config"
        explicit = "kubeconfig" in options or "context" in options or bool(os.environ.get("KUBECONFIG"))
        if explicit or os.path.exists(os.path.expanduser(kubeconfig)):
            name, loader = _load_kubeconfig(kubeconfig, options, key_dir)
            loader.load_and_set(settings)
            settings.renewable, settings.basic = loader.renewable, loader.basic
            settings.token_source, settings.user = loader.token_source, loader.user
            settings.complete(loader.cluster_entry)
            source = "the kubeconfig" if isinstance(kubeconfig, dict) else f"kubeconfig {kubeconfig}"
            if bare and (settings.host or "").rstrip("/") != str(options["host"]).strip().rstrip("/"):
                raise AuthError(
                    f"The option host (flower_auth) has no credentials with it, and those of {source} are of context {name}, another server: they are not "
                    "sent. Is the variable of the token (api_key) empty? If that kubeconfig is meant, name the context (flower_context)."
                )
        elif "host" not in options:
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
    server = access_fields.server_url(
        settings.host, "the option host" if "host" in options else f"the server in {source}"
    )
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


class _Settings:
    """Receives what the loaders of the C(kubernetes) package set on a C(Configuration)."""

    def __init__(self) -> None:
        self.host: str | None = None
        self.api_key: dict[str, str] = {}
        self.ssl_ca_cert: str | None = None
        self.cert_file: str | None = None
        self.key_file: str | None = None
        self.verify_ssl = True
        self.tls_server_name: str | None = None
        self.proxy: str | None = None
        self.refresh_api_key_hook: Callable[[Any], None] | None = None
        self.basic: str | None = None
        self.user: Mapping[str, Any] = {}
        self.renewable = False
        self.token_source = "the token"

    def complete(self, cluster: Mapping[str, Any]) -> None:
        """Set what older versions of the package do not read from the kubeconfig."""
        self.proxy = self.proxy or cluster.get("proxy-url")
        self.tls_server_name = self.tls_server_name or cluster.get("tls-server-name")

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
        headers.append(("Authorization", access_fields.basic(settings.basic, "username or password")))
    return headers + access_fields.impersonation(settings.user, options)


def _must_be_readable(path: str, what: str) -> None:
    """A missing file is named: what reads it next would not, and the kubeconfig would be blamed for it."""
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
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
                "Do certificate and key belong together?"
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
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    for entry in (part.strip().lower() for part in no_proxy.split(",")):
        if not entry:
            continue
        if entry == "*":
            return True
        if address is not None:
            try:
                if address in ipaddress.ip_network(entry, strict=False):
                    return True
            except ValueError:
                pass
        entry = entry.removeprefix("*").lstrip(".")
        if host == entry or host.endswith(f".{entry}") or f"{host}:{port}" == entry:
            return True
    return False


# ---- kubeconfig ------------------------------------------------------------------------------------------------------


def _load_kubeconfig(kubeconfig: Any, options: Mapping[str, Any], key_dir: str) -> tuple[str, Any]:
    """Return (name of the context, loader). C(kubeconfig) is a path, several paths, or the content as a dict."""
    context = options.get("context")
    if not isinstance(kubeconfig, (str, Mapping)):
        raise AuthError("the option kubeconfig is neither a path nor the content of a kubeconfig.")
    if isinstance(kubeconfig, Mapping):
        _check_entries(kubeconfig)
        name = context or kubeconfig.get("current-context") or ""
        return name, _loader()(dict(kubeconfig), active_context=context, config_base_path=None, temp_file_path=key_dir)
    if options.get("persist_config"):
        merger = kube_config.KubeConfigMerger(without_empty(kubeconfig))
        if merger.config is None:
            raise AuthError(f"No kubeconfig found at {kubeconfig}. {WAY_OUT}")
        _check_entries(merger.config.value)
        name = context or merger.config.safe_get("current-context") or ""
        loader = _loader()(
            merger.config,
            active_context=context,
            config_base_path=None,
            config_persister=merger.save_changes,
            temp_file_path=key_dir,
        )
        return name, loader
    merged = pick_context(kubeconfig, context)
    return merged["current-context"], _loader()(merged, config_base_path=None, temp_file_path=key_dir)


def _check_entries(config: Mapping[str, Any]) -> None:
    for section in ("context", "cluster", "user"):
        for entry in config.get(f"{section}s") or []:
            entry = getattr(entry, "value", entry)
            access_fields.check_entry(section, entry.get("name"), entry)


def _loader() -> type:
    """The package's loader, which reports failures of exec plugins instead of logging them only."""

    class Loader(kube_config.KubeConfigLoader):
        renewable = False
        token_source = "the token"
        basic = ""

        def load_and_set(self, client_configuration: Any) -> None:
            self._cluster.value = access_fields.with_value(self._cluster.value)
            if self._user:
                self._user.value = access_fields.user_fields(self._user_name(), self.user)
            super().load_and_set(client_configuration)

        @property
        def user(self) -> Mapping[str, Any]:
            return self._user.value if self._user else {}

        @property
        def cluster_entry(self) -> dict[str, Any]:
            return self._cluster.value

        def _load_authentication(self) -> None:
            user = self._user
            self.renewable = bool(user) and any(key in user for key in ("exec", "tokenFile", "auth-provider"))
            kind = next(
                (key for key in ("auth-provider", "tokenFile", "token", "exec") if user and key in user), "token"
            )
            self.token_source = f"the token ({kind}) of user '{self._user_name()}' of the kubeconfig"
            super()._load_authentication()

        def _user_name(self) -> Any:
            return self._current_context["context"].safe_get("user")

        def _load_user_pass_token(self) -> None:
            if "username" in self.user:
                self.basic = f"{self.user['username']}:{self.user['password']}"

        def _load_from_exec_plugin(self) -> Any:
            if "exec" not in self._user:
                return None
            base = self._get_base_path(self._cluster.path)
            command = self._user["exec"].safe_get("command")
            try:
                with _others_continue():
                    status = exec_plugin.run(_exec_provider(self._user["exec"], base, self._cluster))
            except (ConfigException, AuthError, OSError) as error:
                hint = self._user["exec"].safe_get("installHint") if isinstance(error, FileNotFoundError) else ""
                raise AuthError(
                    f"The exec plugin '{command}' of user '{self._user_name()}' returned no credentials: {one_line(error)}{' ' + hint if hint else ''}"
                ) from error
            if status.get("token"):
                self.token = f"Bearer {status['token']}"
            if status.get("clientCertificateData") and status.get("clientKeyData"):
                self.cert_file = self._write(status["clientCertificateData"])
                self.key_file = self._write(status["clientKeyData"])
            elif not status.get("token"):
                raise AuthError(f"The exec plugin '{command}' returned neither a token nor a client certificate.")
            return True

        def _write(self, text: str) -> str:
            handle, path = tempfile.mkstemp(dir=self._temp_file_path)
            with os.fdopen(handle, "w") as file:
                file.write(text)
            return path

    return Loader


def _exec_provider(config: Any, base: str, cluster: Any) -> Any:
    try:
        return ExecProvider(config, base, cluster)
    except TypeError:  # kubernetes < 32 cannot pass the cluster to the plugin
        return ExecProvider(config, base)


def _forget_files_below(directory: str) -> None:
    """The loader remembers its temporary files by content; ours are gone."""
    known = getattr(kube_config, "_temp_files", None)
    if isinstance(known, dict):
        for content in [content for content, path in known.items() if path.startswith(directory)]:
            del known[content]


def _source_of(options: Mapping[str, Any]) -> str:
    kubeconfig = options.get("kubeconfig")
    where = (
        "the kubeconfig"
        if isinstance(kubeconfig, Mapping)
        else f"kubeconfig {kubeconfig or os.environ.get('KUBECONFIG') or '~/.kube/config'}"
    )
    return f"{where}, context {options['context']}" if options.get("context") else where
