# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.connect): the connection of a user's own Flower CLI.

There are two files in the folder of Flower's settings: C(config.toml) has the connection among others, and a file of our own the certificate of the CA
that the SuperLink's own certificate is verified with. Its path marks the connection as ours, its first line says which federation it is.
"""

from __future__ import annotations

import os
import shlex
import ssl
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import (
    SUPERLINK,
    SUPERLINK_POD,
    SUPERLINK_PORT,
)
from ansible_collections.federated.flower.plugins.plugin_utils.flower import connection_file
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Forbidden
from ansible_collections.federated.flower.plugins.plugin_utils.kube.auth import options_of
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.rights import ask
from ansible_collections.federated.flower.plugins.plugin_utils.rights.need import Right

_FOLDER = "federated-flower"  # of our files, in that of Flower's settings
_OURS = "# federated.flower: "
_READ_CA = ["python", "-c", "print(open('/internal/ca.crt').read())"]
_ATTEMPTS = 3  # a busy node may drop what a command printed, see flower/in_pod.py
_REMEDY = "Choose another name (-e flower_connect_name=NAME)"


class ActionModule(ClusterAction):
    """See the module's documentation."""

    NOTES_MESSAGE = False  # nothing of the fleet is changed

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Compare what both files should have with what they have, refuse to replace what is not ours, and write."""
        name, present = params["name"], params["state"] == "present"
        if why := connection_file.problem_of_name(name):
            raise ClusterError(f"flower_connect_name: {name!r} cannot be the name of a connection: {why}.")
        if not 1 <= params["port"] <= 65535:
            raise ClusterError(f"flower_connect_port: {params['port']} is not a port (1 to 65535).")
        home = Path(os.path.abspath(os.path.expanduser(params["home"] or os.environ.get("FLWR_HOME") or "~/.flwr")))
        config, ca = Path(os.path.realpath(home / "config.toml")), home / _FOLDER / f"{name}.crt"
        try:
            before = {config: _read(config), ca: _read(ca)}
            after = dict(zip(before, (self._with if present else _without)(config, ca, before, params)))
            # The connection is there only while its certificate is.
            changed = [path for path in ((ca, config) if present else (config, ca)) if before[path] != after[path] or (present and _is_open(path))]
            for path in [] if self.check else changed:
                _write(path, after[path])
            left = changed and not present and connection_file.is_default(after[config], name)
        except OSError as error:
            raise ClusterError(f"{error.filename or home} cannot be used: {error.strerror or error}. FLWR_HOME sets another folder.") from error
        except ValueError as error:
            raise ClusterError(f"{config}: {error}. Correct the file, or move it; nothing was changed.") from error
        verb = {True: "wrote" if present else "removed", False: "would write" if present else "would remove"}[not self.check]
        return {
            "changed": bool(changed),
            "diff": [{"before_header": str(config), "after_header": str(config), "before": _shown(before, name), "after": _shown(after, name)}],
            "config": str(config),
            "forward": forward(options_of(self.auth_of()), params["namespace"], params["port"]) if present else "",
            "warnings": [f"{config}: {name} is the default connection there, and does not exist any more: choose another one."] if left else [],
            "msg": f"{verb if changed else 'kept' if present else 'found no'} connection {name} in {config}",
        }

    def _with(self, config: Path, ca: Path, before: Mapping[Path, str], params: Mapping[str, Any]) -> tuple[str, str]:
        """The content of both files with the connection."""
        name, variable = params["name"], f"flower_connect_name: {params['name']!r}"
        found = connection_file.connection(before[config], name)
        if found is not None and found.get("root-certificates") != str(ca):
            raise ClusterError(f"{variable} is a connection in {config} that this collection did not write. {_REMEDY}.")
        with self.connect() as hub:
            head = ascii(f"federation {params['federation']} in namespace {params['namespace']} of {hub.server}")[1:-1]
            former, ours = before[ca].partition("\n")[0].removeprefix(_OURS), before[ca].startswith(_OURS)
            if before[ca] and (former != head or not ours):
                former = former if ours else "something else"
                remove = f", or remove that one first (-e flower_connect_name={name} -e flower_connect_state=absent)" if ours else ""
                raise ClusterError(f"{variable}: {ca} is of {former}, and this is {head}. {_REMEDY}{remove}.")
            trusted = _of_file(Path(params["ca"])) if params["ca"] else self._read_ca(hub, params["namespace"])
            verbs = [Right(verb, "", "pods/portforward", params["namespace"], SUPERLINK_POD) for verb in ("get", "create")]
            ask.require(hub, {params["namespace"]: verbs})
        values = {"address": f"localhost:{params['port']}", "root-certificates": str(ca)}
        return connection_file.with_connection(before[config], name, values), f"{_OURS}{head}\n{trusted}"

    @staticmethod
    def _read_ca(hub: Cluster, namespace: str) -> str:
        """The certificate of the internal CA, out of the SuperLink's container."""
        try:
            for _attempt in range(_ATTEMPTS):
                done = hub.exec(namespace, SUPERLINK_POD, SUPERLINK, _READ_CA)
                if done.rc == 0 and (found := _certificates(done.stdout.decode("ascii", "replace"))):
                    return found
        except Forbidden as error:
            raise ClusterError(
                f"{error.message}. Without the right to exec into pod {SUPERLINK_POD}, get the certificate of the internal CA from the operator of the "
                "federation, and name its file: -e flower_connect_ca=FILE."
            ) from error
        raise ClusterError(f"{hub.name}: /internal/ca.crt in pod {namespace}/{SUPERLINK_POD} cannot be read. See federated.flower.status.")


def _without(config: Path, ca: Path, before: Mapping[Path, str], params: Mapping[str, Any]) -> tuple[str, str]:
    """The content of both files without the connection; what is not ours stays."""
    text, name = before[config], params["name"]
    found = connection_file.connection(text, name)
    if found is not None and found.get("root-certificates") == str(ca):
        text = connection_file.without_connection(text, name)
    return text, "" if before[ca].startswith(_OURS) else before[ca]


def forward(auth: Mapping[str, Any], namespace: str, port: int) -> str:
    """The command that forwards a port of this machine to the SuperLink, without credentials."""
    files, place = auth.get("kubeconfig"), ""
    if isinstance(files, str):
        place = f"KUBECONFIG={shlex.quote(os.pathsep.join(os.path.abspath(os.path.expanduser(path)) for path in files.split(os.pathsep)))} "
    context = ["--context", str(auth["context"])] if auth.get("context") else []
    return place + shlex.join(["kubectl", *context, "-n", namespace, "port-forward", f"pod/{SUPERLINK_POD}", f"{port}:{SUPERLINK_PORT}"])


def _of_file(path: Path) -> str:
    with suppress(OSError):
        if found := _certificates(path.read_bytes().decode("ascii", "replace")):
            return found
    raise ClusterError(f"flower_connect_ca: {path} is not a file with a certificate (PEM) that can be read.")


def _certificates(text: str) -> str:
    """The certificates of a text, as Flower reads them; empty if there is none, or one that cannot be read."""
    found = "".join(certificates.split(text))
    with suppress(ssl.SSLError, ValueError):
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=found)
        return found
    return ""


def _shown(content: Mapping[Path, str], name: str) -> str:
    """For a diff: the connection, not what else is in the file."""
    config, ca = content.values()
    values = connection_file.connection(config, name) or {}
    return "".join([f"[superlink.{name}]\n" if values else "", *(f"{key} = {value}\n" for key, value in values.items()), ca])


def _read(path: Path) -> str:
    """What is in a file; empty if there is none."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""


def _is_open(path: Path) -> bool:
    """Whether others may read a file."""
    return path.exists() and bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


def _write(path: Path, text: str) -> None:
    """Replace a file whole, with mode 0600; without a text, remove it."""
    if not text:
        path.unlink(missing_ok=True)
        if path.parent.name == _FOLDER:
            with suppress(OSError):  # other connections have their files there
                path.parent.rmdir()
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            file.write(text.encode("utf-8"))
            file.flush()
            os.replace(file.name, path)
        except OSError:
            os.unlink(file.name)
            raise
