# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubeconfigs: the wanted context of one or several files, and how its entries are read.

The C(kubernetes) package reads the entries, so token files, auth providers, inline data and relative paths behave as they do everywhere
else. Its own reader of files is not used where it can be avoided: it parses with PyYAML's slow loader.
"""

from __future__ import annotations

import base64
import contextlib
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent import futures
from copy import deepcopy
from functools import lru_cache
from typing import Any

import yaml

from ..base.foreign_data import cleaned
from ..base.formats import is_path
from . import access_fields, exec_plugin
from .api_errors import AuthError, one_line

_PackageLoader: Any = object
with contextlib.suppress(ImportError):  # reported by auth.resolve()
    from kubernetes.config import kube_config
    from kubernetes.config.config_exception import ConfigException
    from kubernetes.config.exec_provider import ExecProvider

    _PackageLoader = kube_config.KubeConfigLoader

_YAML_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_REMEDY = (
    "Set flower_kubeconfig of this host (or KUBECONFIG in the environment) to the path of one, or flower_auth to the address and credentials of its API server."
)
#: The loader of the package remembers its temporary files by content for the whole process: a second thread with the same
#: kubeconfig would get a file that the first is about to delete.
LOCK = threading.Lock()


@contextlib.contextmanager
def _unlocked() -> Iterator[None]:
    """Let other threads read their access meanwhile; for what takes long, and at a time when the package has written no file."""
    LOCK.release()
    try:
        yield
    finally:
        LOCK.acquire()


def load(kubeconfig: Any, options: Mapping[str, Any], key_dir: str) -> tuple[str, Loader]:
    """The name of the context, and its loader.

    Args:
        kubeconfig: a path, several paths, or the content.
        options: C(context) and C(persist_config).
        key_dir: folder for temporary files.

    Raises:
        AuthError: it has no such context, or an entry of it cannot be used.
    """
    context, save = options.get("context"), None
    config: Any
    if isinstance(kubeconfig, Mapping):
        config = dict(kubeconfig)
    elif not isinstance(kubeconfig, str) or not is_path(kubeconfig):
        raise AuthError(
            "the option kubeconfig (flower_kubeconfig) is neither a path nor the content of a kubeconfig as a mapping. Of a text with the content, make "
            "one: {{ lookup('ansible.builtin.file', 'PATH') | from_yaml }}."
        )
    elif options.get("persist_config"):  # the package writes renewed tokens back, and ends at a file without entries
        merger = kube_config.KubeConfigMerger(os.pathsep.join(path for path, content in _files(kubeconfig) if content))
        if merger.config is None:
            raise AuthError(f"No kubeconfig found at {kubeconfig}. {_REMEDY}")
        config, save = merger.config, merger.save_changes
    else:
        config = _of_files(kubeconfig, context)
        context = config["current-context"]
    plain = config.value if save else config
    for section in ("context", "cluster", "user"):
        for entry in plain.get(f"{section}s") or []:
            entry = getattr(entry, "value", entry)
            access_fields.check_entry(section, entry.get("name"), entry)
    name = context or plain.get("current-context") or ""
    return name, Loader(config, active_context=context, config_base_path=None, config_persister=save, temp_file_path=key_dir)


def _files(paths: str) -> list[tuple[str, dict[str, Any]]]:
    """Path and content of the files that exist."""
    names = [name for path in paths.split(os.pathsep) if path and os.path.exists(name := os.path.expanduser(path))]
    if not names:
        raise AuthError(f"No kubeconfig found at {paths}. {_REMEDY}")
    return [(name, _parsed(name, (found := os.stat(name)).st_mtime_ns, found.st_size)) for name in names]


@lru_cache(maxsize=8)
def _parsed(path: str, _time: int, _size: int) -> dict[str, Any]:
    """The content of a file, as long as it does not change: a thousand contexts take 0.1 s, and all sites may be in one file."""
    with open(path, "rb") as handle:
        content = yaml.load(handle, Loader=_YAML_LOADER)
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise AuthError(f"{path} is not a kubeconfig.")
    return content


def _of_files(paths: str, context: str | None) -> dict[str, Any]:
    """A kubeconfig with one context, put together from several files. The first that has an entry wins, as in kubectl."""
    files = _files(paths)
    wanted = context or next((content["current-context"] for _path, content in files if content.get("current-context")), None)
    if not wanted:
        raise AuthError(f"kubeconfig {paths} has no current-context: set one with the option 'context'.")
    found = _entry(files, "contexts", wanted)
    if found is None:
        names = sorted({str(one.get("name")) for _path, content in files for one in content.get("contexts") or []})
        more = f" and {len(names) - 8} more" if len(names) > 8 else ""
        has = f" It has: {', '.join(names[:8])}{more}." if names else ""
        raise AuthError(f"kubeconfig {paths} has no context '{wanted}'.{has}")
    access_fields.check_entry("context", wanted, found.value)
    names_of = found.value["context"]
    cluster = _entry(files, "clusters", names_of.get("cluster"))
    if cluster is None:
        raise AuthError(f"kubeconfig {paths}: context '{wanted}' refers to the cluster '{names_of.get('cluster')}', which does not exist.")
    user = _entry(files, "users", names_of["user"]) if names_of.get("user") else None
    return {"current-context": wanted, "contexts": [found], "clusters": [cluster], "users": [user] if user is not None else []}


def _entry(files: list[tuple[str, dict[str, Any]]], section: str, name: Any) -> Any:
    """An entry with the path of its file, to which its paths are relative; None if no file has it."""
    for path, content in files:
        matches = [one for one in content.get(section) or [] if isinstance(one, dict) and one.get("name") == name]
        if len(matches) > 1:
            raise AuthError(f"{path} has more than one entry '{name}' in {section}.")
        if matches:
            return kube_config.ConfigNode(f"{path}/{section}[name={name}]", deepcopy(matches[0]), path)
    return None


class Loader(_PackageLoader):
    """The package's loader, which reads all fields that kubectl does, and reports failures of exec plugins instead of logging them only."""

    _basic: str | None = None
    _get_google_credentials: Callable[[], Any]

    def load_and_set(self, client_configuration: Any) -> None:
        """Set what the entries say on the settings of a connection; see C(auth)."""
        cluster = self._cluster.value = access_fields.with_value(self._cluster.value)
        user: dict[str, Any] = {}
        if self._user:
            user = self._user.value = access_fields.user_fields(self._user_name(), self._user.value)
        super().load_and_set(client_configuration)
        kind = next((key for key in ("auth-provider", "tokenFile", "token", "exec") if key in user), "token")
        client_configuration.user = user
        client_configuration.token_source = f"the token ({kind}) of user '{self._user_name()}' of the kubeconfig"
        client_configuration.renewable = any(key in user for key in ("exec", "tokenFile", "auth-provider"))
        client_configuration.basic = self._basic
        # older versions of the package do not read these two
        client_configuration.proxy = client_configuration.proxy or cluster.get("proxy-url")
        client_configuration.tls_server_name = client_configuration.tls_server_name or cluster.get("tls-server-name")

    def _user_name(self) -> Any:
        return self._current_context["context"].safe_get("user")

    def _refresh_oidc(self, provider: Any) -> None:
        """Refresh a copy of the entry: an answer that comes too late changes nothing. The package itself would leave the CA in a file."""
        entry = provider["config"].value
        config = dict(entry)
        if "idp-certificate-authority-data" in config:
            config["idp-certificate-authority"] = self._write(base64.b64decode(config.pop("idp-certificate-authority-data")).decode())
        refresh = super()._refresh_oidc
        self._refreshed(lambda: refresh(kube_config.ConfigNode(provider.name, {"config": config}, provider.path)))
        entry.update({name: config[name] for name in ("id-token", "refresh-token") if name in config})

    def _refresh_gcp_token(self) -> None:
        credentials = self._refreshed(self._get_google_credentials)
        if credentials is None:
            raise AuthError("The auth provider 'gcp' needs the Python package 'google-auth' on the control node. Install it, or use an exec plugin.")
        self._get_google_credentials = lambda: credentials
        super()._refresh_gcp_token()

    def _refreshed(self, refresh: Callable[[], Any]) -> Any:
        """What the package's refresh of a token returns. It has no limit of time, so after that of exec plugins its thread is left alone.

        Raises:
            AuthError: it fails, or does not end in time.
        """
        outcome: futures.Future[Any] = futures.Future()

        def work() -> None:
            try:
                outcome.set_result(refresh())
            except Exception as error:  # those of oauthlib, requests, urllib3, google.auth and the package have no class in common
                outcome.set_exception(error)

        threading.Thread(target=work, daemon=True).start()
        error: BaseException | None = None
        try:
            # A renewed token is written back with the whole file, so no other thread may read or renew it meanwhile.
            with contextlib.nullcontext() if self._config_persister else _unlocked():
                error = outcome.exception(exec_plugin.LIMIT)
        except futures.TimeoutError:
            why = f"there was no answer within {exec_plugin.LIMIT:g} s, so check the route to the identity provider"
        else:
            if error is None:
                return outcome.result()
            first_line = str(error).strip().partition("\n")[0]  # the others may be what a program printed, or an answer
            why = f"{type(error).__name__}: {cleaned(first_line, 300)}".rstrip(".")
        raise AuthError(
            f"The auth provider '{self._user['auth-provider'].safe_get('name')}' of user '{self._user_name()}' of the kubeconfig (context "
            f"{self._current_context.safe_get('name')}) returned no new token: {why}. Log in again, or use an exec plugin."
        ) from error

    def _load_user_pass_token(self) -> None:
        user = self._user.value
        if "username" in user:
            self._basic = f"{user['username']}:{user['password']}"

    def _load_from_exec_plugin(self) -> Any:
        if "exec" not in self._user:
            return None
        entry, base = self._user["exec"], self._get_base_path(self._cluster.path)
        command = entry.safe_get("command")
        try:
            try:
                provider = ExecProvider(entry, base, self._cluster)
            except TypeError:  # kubernetes < 32 cannot pass the cluster to the plugin
                provider = ExecProvider(entry, base)
            with _unlocked():
                status = exec_plugin.run(provider)
        except (ConfigException, AuthError, OSError) as error:
            hint = entry.safe_get("installHint") if isinstance(error, FileNotFoundError) else ""
            raise AuthError(
                f"The exec plugin '{command}' of user '{self._user_name()}' returned no credentials: {one_line(error)}{' ' + hint if hint else ''}"
            ) from error
        if status.get("token"):
            self.token = f"Bearer {status['token']}"
        if status.get("clientCertificateData") and status.get("clientKeyData"):
            self.cert_file, self.key_file = self._write(status["clientCertificateData"]), self._write(status["clientKeyData"])
        elif not status.get("token"):
            raise AuthError(f"The exec plugin '{command}' returned neither a token nor a client certificate.")
        return True

    def _write(self, text: str) -> str:
        handle, path = tempfile.mkstemp(dir=self._temp_file_path)
        with os.fdopen(handle, "w") as file:
            file.write(text)
        return path


def forget_files_below(directory: str) -> None:
    """The package remembers its temporary files by content; these are gone."""
    known = getattr(kube_config, "_temp_files", None)
    if isinstance(known, dict):
        for content in [content for content, path in known.items() if path.startswith(directory)]:
            del known[content]
