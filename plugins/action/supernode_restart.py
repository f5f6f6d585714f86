# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.supernode_restart): restart SuperNodes that run with older files than their site holds."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from ansible.utils.display import Display

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.audit.notes import of_objects
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.names import CLIENTAPP, SITE, keys_secret
from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import entries
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.ledger import records
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.store import Ledger
from ansible_collections.federated.flower.plugins.plugin_utils.manifests.supernode import TRUST
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import restarting
from ansible_collections.federated.flower.plugins.plugin_utils.pki import keypairs
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import conditions, internal, restart, site_proof
from ansible_collections.federated.flower.plugins.plugin_utils.site_keys import job, keys, site_keygen
from ansible_collections.federated.flower.plugins.plugin_utils.spec.ocm_spec import OCM

display = Display()

_WAY_OUT = (
    "rotate_certs.yml waits for it",
    "rotate_certs.yml -e flower_rotate=supernode_keys -e cert_rotation_force=true",
)
PODS = f"app.kubernetes.io/name in (supernode,{CLIENTAPP})"
_FILES = {
    "trust": "--root-certificates",
    "key": "--auth-supernode-private-key",
    "superexec": "--superexec-auth-secret-file",
    "loopback": "--root-certificates",
}


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "hub": {"type": "str", "required": True},
        "hub_namespace": {"type": "str", "default": "flower"},
        "federation": {"type": "str", "default": "flower"},
        "namespace": {"type": "str", "default": "flower"},
        "files": {"type": "list", "elements": "str", "choices": list(_FILES), "required": True},
        "mark": {"type": "str", "default": ""},
        "spec": {"type": "dict", "default": {}},
        "force": {"type": "bool", "default": False},
        "heal": {"type": "bool", "default": False},
        "wait": {"type": "int", "default": 3600},
        "wait_timeout": {"type": "int", "default": 300},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Pool by pool, and each only while every SuperNode is online and no run is active."""
        result: dict[str, Any] = {
            "changed": False,
            "site": self.inventory_host,
            "trouble": "",
            "renewed": False,
            "restarted": [],
        }
        try:
            if params["spec"].get("delivery") == OCM:
                self._through_hub(params, result)
                return _told(result, self.check)
            with self.connect(params["hub"]) as hub, self.connect() as site:
                if params["mark"] and not self.check:
                    self._renew(hub, site, params, result)
                for pool, pods in self._old(site, params).items():
                    result["changed"] = True
                    if self.check:
                        result["restarted"] += [pod["metadata"]["name"] for pod in pods]
                        continue
                    self._gate(hub, params)
                    tell = functools.partial(self.note, self.inventory_host)
                    result["restarted"] += restart.replace(
                        site, params["namespace"], pods, params["wait_timeout"], tell
                    )
                    self._await_online(hub, params, pool)
                result["renewed"] = bool(params["mark"])
        except ClusterError as error:
            result["trouble"] = error.message.rstrip(".")
        return _told(result, self.check)

    def _through_hub(self, params: dict[str, Any], result: dict[str, Any]) -> None:
        """The same for a site that only the hub of Open Cluster Management reaches: all of its pools at once."""
        spec, seconds = params["spec"], params["wait_timeout"]
        with self.connect(params["hub"]) as hub:
            self._site = self.inventory_host  # what changes on the hub is this site's
            place = restarting.place(hub, spec, seconds, check=self.check)
            if params["mark"] and not self.check:
                self._renew_there(place, params, result)
            wanted = restarting.mark(spec, place.read())
            old = restarting.old(hub, spec, wanted)
            if old:
                result["changed"] = True
                if not self.check:
                    self._gate(hub, params)
                    restarting.restart(hub, spec, wanted, seconds)
                    words = [f"restarted pod {params['namespace']}/{name}" for name in old]
                    self.note(self.inventory_host, words=words)
                    for pool in spec["pools"]:
                        self._await_online(hub, params, pool["name"])
                result["restarted"] = old
            result["renewed"] = bool(params["mark"])

    def _renew(self, hub: Cluster, site: Cluster, params: dict[str, Any], result: dict[str, Any]) -> None:
        """New shared secrets, made here or by the site itself."""
        if _made_there(params):
            self._renew_there(job.AtSite(site, params["spec"]), params, result)
            return
        made = {keys.SUPEREXEC: {"secret": keypairs.make_secret()}}
        written = internal.renew_site(site, params["federation"], params["namespace"], params["mark"], made)
        self.note(self.inventory_host, objects=written)
        result["changed"] = bool(written)

    def _renew_there(self, place: site_keygen.Place, params: dict[str, Any], result: dict[str, Any]) -> None:
        became = site_keygen.renew(place, params["spec"], [keys.SUPEREXEC], params["mark"], params["wait_timeout"])
        secrets = [
            {"kind": "Secret", "namespace": params["namespace"], "name": name, "change": change}
            for name, change in became.items()
        ]
        written = of_objects(secrets)
        self.note(self.inventory_host, objects=written)
        result["changed"] = bool(written)

    def _old(self, site: Cluster, params: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
        """Pool -> pods that run with older files."""
        found: dict[str, list[dict[str, Any]]] = {}
        held: dict[tuple[str, str], Mapping[str, str]] = {}
        for pod in site.list("v1", "Pod", params["namespace"], labels=PODS):
            pool, name = site_proof.place(pod)
            wanted = {}
            for kind, (path, place, entry) in _places(pod, pool, name).items():
                if kind not in params["files"]:
                    continue
                if place not in held:
                    held[place] = _digests(site, params, *place)
                if entry not in held[place] and self.check:
                    found.setdefault(pool, []).append(pod)  # what it will read is not made yet
                    break
                if entry not in held[place]:
                    raise ClusterError(
                        f"{place[0]} {params['namespace']}/{place[1]} on {site.name} has no entry {entry}"
                    )
                wanted[path] = held[place][entry]
            if pod not in found.get(pool, []) and restart.is_old(site, pod, _container(pod), wanted):
                found.setdefault(pool, []).append(pod)
        return dict(sorted(found.items()))

    @staticmethod
    def _hub(hub: Cluster, params: dict[str, Any]) -> tuple[Ledger, FlowerCLI]:
        """What the hub knows: sites, and SuperNodes."""
        return Ledger(hub, params["hub_namespace"], params["federation"]), FlowerCLI(hub, params["hub_namespace"])

    def _gate(self, hub: Cluster, params: dict[str, Any]) -> None:
        if params["force"]:
            return
        ledger, cli = self._hub(hub, params)
        if params["heal"]:
            record = ledger.read_sites()[0].get(self.inventory_host, records.empty_record(self.inventory_host))
            nodes = cli.nodes()
            if any(nodes.get(key["node_id"] or "", {}).get("status") == "online" for key in record["keys"].values()):
                conditions.wait_no_run(cli, params["wait"], display.display, _WAY_OUT)
            return
        book, found = ledger.read_book(), ledger.read_records()
        away = conditions.offline(found, book, cli.nodes())
        # With a certificate that it does not know, a SuperNode of this site may be away already; restarting it mends that.
        away.pop(self.inventory_host, None)
        if away:
            told = "; ".join(f"{name}: {words}" for name, words in away.items())
            raise ClusterError(
                f"SuperNodes are restarted one site after the other, while all others are online; {told}."
            )
        conditions.wait_no_run(cli, params["wait"], display.display)

    def _await_online(self, hub: Cluster, params: dict[str, Any], pool: str) -> None:
        ledger, cli = self._hub(hub, params)
        found = ledger.read_sites()[0]
        if conditions.excuse(self.inventory_host, ledger.read_book(), found):
            return  # it is denied: nobody waits for it
        record = found[self.inventory_host]
        nodes = [node for node, key in records.node_ids(record).items() if key["pool"] == pool]
        status = cli.nodes(nodes, params["wait_timeout"])
        away = [node for node in nodes if status.get(node, {}).get("status") != "online"]
        if away and not params["force"]:
            raise ClusterError(
                f"SuperNodes of pool {pool} were restarted and are not online after {params['wait_timeout']} s: {', '.join(away)}"
            )


def _told(result: dict[str, Any], check: bool) -> dict[str, Any]:
    done = f"{len(result['restarted'])} SuperNodes {'to restart' if check else 'restarted'}"
    return result | {"msg": result["trouble"] or done}


def _made_there(params: dict[str, Any]) -> bool:
    return params["spec"].get("key_source") == SITE


def _digests(site: Cluster, params: dict[str, Any], kind: str, name: str) -> Mapping[str, str]:
    """Entry -> digest of a ConfigMap or Secret. Of the Secrets that a site makes itself only digests can be seen."""
    if kind == "Secret" and _made_there(params):
        return job.read(site, params["namespace"]).digests.get(name, {})
    live = site.get("v1", kind, name, params["namespace"])
    found = entries(live) if kind == "Secret" else (live or {}).get("data") or {}
    return {entry: site_proof.digest(value) for entry, value in found.items()}


def _container(pod: Mapping[str, Any]) -> str:
    """The container that reads the files: the SuperNode, or the SuperExec of a ClientApp in a pod of its own."""
    return "superexec" if pod["metadata"]["labels"].get("app.kubernetes.io/name") == CLIENTAPP else site_proof.CONTAINER


def _places(pod: dict[str, Any], pool: str, name: str) -> dict[str, tuple[str, tuple[str, str], str]]:
    """Kind -> path of the file, the object that it comes from, and the entry, of the files that this SuperNode reads."""
    places = {
        "trust": (("ConfigMap", TRUST), "ca.crt"),
        "key": (("Secret", keys_secret(pool)), name),
        "superexec": (("Secret", keys.SUPEREXEC), "secret"),
        "loopback": (("Secret", keys.LOCAL_TLS), "ca.crt"),
    }
    found = {}
    for kind, option in _FILES.items():
        path = site_proof.argument(pod, option, _container(pod))
        if _container(pod) != site_proof.CONTAINER and kind != "superexec":
            continue  # what a ClientApp trusts is no trust of the hub's
        if path and not (kind in ("trust", "loopback") and (kind == "trust") == site_proof.has_sidecar(pod)):
            found[kind] = (path.rpartition("$(")[0] + name if "$(" in path else path, *places[kind])
    return found
