# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is rendered for the example inventories, by every delivery, from fixed addresses, numbers and certificates.

As a program it prints the digests of all of it: Ansible's loader of plugins, which the inventories need, changes how Python imports collections.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader
from ansible.template import Templar
from ansible.vars.manager import VariableManager

from ansible_collections.federated.flower.plugins.plugin_utils.base.plain_data import to_json_data
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import (
    clientapp,
    site_jobs,
    skupper,
    superlink,
    supernode,
)
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import (
    addon_objects,
    app_versions,
    delivery,
    key_work,
    nodes_work,
)
from ansible_collections.federated.flower.plugins.plugin_utils.site_keys import shipped
from ansible_collections.federated.flower.plugins.plugin_utils.sites import bundle_draft as drafts
from ansible_collections.federated.flower.plugins.plugin_utils.spec.hub_spec import AddonSpec, HubSpec
from ansible_collections.federated.flower.plugins.plugin_utils.spec.network_spec import (
    LinkSpec,
    ListenerSpec,
    NetworkSiteSpec,
)
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec
from ansible_collections.federated.flower.tests.unit.compiled_templates import compiled_once
from ansible_collections.federated.flower.tests.unit.read import ROOT, role_options, trusted, yaml_file
from ansible_collections.federated.flower.tests.unit.specs import CA

Object = dict[str, Any]

ADDRESS = "flower.example.com:9092"
NONCE = "0123456789abcdef"
ADDON = {"metadata": {"name": "addon", "uid": "1-2-3"}}  # a live ManagedClusterAddOn
ENDPOINTS = [
    {"name": name, "host": "192.0.2.7", "port": port, "group": "skupper-router"}
    for name, port in (("edge", "45671"), ("inter-router", "55671"))
]
GRANT = {"url": "https://192.0.2.7:9090/uid", "code": "code", "ca": CA}
TLS = {"tls.crt": CA, "tls.key": "key", "ca.crt": CA}
#: Managed clusters, as the inventory plugin C(federated.flower.ocm) shows them.
CLUSTERS = {
    "clinic-lyon": {"ocm_labels": {"flower": "site", "region": "eu"}, "ocm_gpus": 0},
    "lab-denver": {"ocm_labels": {"flower": "site", "region": "us", "gpu": "a100"}, "ocm_gpus": 4},
}


def sources() -> dict[str, Path]:
    """The example inventories: path in the collection -> path."""
    found = [
        *ROOT.glob("inventories/*"),
        *ROOT.glob("examples/*/inventory"),
        *ROOT.glob("examples/*/ocm"),
        *ROOT.glob("examples/*/fleet.yml"),
    ]
    return {path.relative_to(ROOT).as_posix(): path for path in sorted(found)}


class Example:
    """An example inventory.

    Args:
        path: of its file or folder.
        scratch: an empty folder.
    """

    def __init__(self, path: Path, scratch: Path) -> None:
        for plugin in path.glob("*.ocm.yml"):
            path = _listed(plugin, scratch)
        self._loader, self._options = DataLoader(), dict[tuple[str, str], dict[str, Any]]()
        inventory = InventoryManager(self._loader, sources=[str(path)])
        manager = VariableManager(self._loader, inventory)
        variables = {host.name: manager.get_vars(host=host) for host in inventory.get_hosts()}
        fixed = {
            "flower_platform": "kubernetes",
            "ocm_addon_clientapps": False,
            "ocm_addon_number_of_clusters": "",
            "hostvars": variables,
        }
        self._variables = {host: {**found, **fixed} for host, found in variables.items()}
        (self.hub,) = (host.name for host in inventory.groups["flower_hub"].get_hosts())
        self.sites = sorted(host.name for host in inventory.groups["flower_sites"].get_hosts())

    def options(self, role: str, host: str) -> dict[str, Any]:
        """The options of a role for a host, without the role's prefix."""
        if (role, host) not in self._options:
            raw = {**trusted(yaml_file("roles", role, "defaults", "main.yml")), **self._variables[host]}
            template = Templar(loader=self._loader, variables=raw).template
            found = {
                name.removeprefix(f"{role}_"): to_json_data(template(raw[name])) for name in role_options(role) if name in raw
            }
            self._options[role, host] = {**found, "cluster": host}
        return self._options[role, host]

    def rendered(self) -> Iterator[tuple[str, list[Object]]]:
        """Host and delivery, and the objects."""
        yield f"{self.hub}, hub", superlink.objects(self._hub(False))
        yield f"{self.hub}, skupper", [*superlink.objects(self._hub(True)), *self._network(self.hub)]
        yield f"{self.hub}, ocm", addon_objects.addon_objects(AddonSpec.parse(self.options("ocm_addon", self.hub)))
        for site in self.sites:
            yield f"{site}, direct", supernode.objects(self._site(site, delivery="direct"))
            own = self._site(site, delivery="direct", key_source="site")
            job, belongings = (
                site_jobs.key_job(own, "", "x", shipped.files(), 60),
                site_jobs.belongings(own, None, "x", shipped.files(), request(own), given=False),
            )
            yield f"{site}, keys made at the site", [job, *belongings]
            yield (
                f"{site}, skupper",
                [*supernode.objects(self._site(site, delivery="direct", connectivity="skupper")), *self._network(site)],
            )
            yield f"{site}, ocm", ocm_objects(self._site(site, delivery="ocm", key_source="site"))
            yield (
                f"{site}, bundle",
                drafts.numbered(draft(self._site(site, delivery="bundle", key_source="site")), 1, NONCE),
            )

    def _hub(self, is_in_network: bool) -> HubSpec:
        given = self.options("superlink", self.hub)
        credentials = sorted(given["tracking_credentials"])
        return HubSpec.parse(
            {
                **given,
                "superlink_address": ADDRESS,
                "ca_bundle": CA,
                "skupper": is_in_network,
                "tracking_credentials": credentials,
            }
        )

    def _site(self, host: str, **way: str) -> SiteSpec:
        given = {**self.options("supernode", host), "connectivity": "direct", "key_source": "controller", **way}
        spec = SiteSpec.parse(
            {**given, "superlink_address": ADDRESS, "ca_bundle": CA, "client_certificate": CA, "allocation": {}}
        )
        return spec.complete()

    def _network(self, host: str) -> list[Object]:
        is_hub = host == self.hub
        site = NetworkSiteSpec.parse({**self.options("skupper_site", host), "hub": is_hub})
        listener = ListenerSpec.parse(self.options("skupper_listener", host))
        found = [*skupper.site_objects(site), *skupper.skupper_site_objects(site)]
        if is_hub:
            return [*found, *skupper.connector_objects(listener), *skupper.skupper_connector_objects(listener)]
        link = LinkSpec.parse(self.options("skupper_link", host))
        found += [
            skupper.certificate(link, "skupper-site-ca"),
            skupper.access_grant(link),
            skupper.access_token(link, GRANT),
            skupper.link_secret(link, TLS),
        ]
        found += [*skupper.links(link, ENDPOINTS, {}), *skupper.skupper_link_objects(link, ENDPOINTS)]
        return [*found, *skupper.listener_objects(listener), *skupper.skupper_listener_objects(listener)]


def _listed(plugin: Path, scratch: Path) -> Path:
    """An inventory with the hosts, groups and variables that a file of the plugin C(federated.flower.ocm) leads to."""
    config = yaml.safe_load(plugin.read_text(encoding="utf-8"))
    common = {"ocm_available": True, "flower_delivery": "ocm", "flower_ocm_by_labels": []}
    sites = {name: {"ocm_name": name, **cluster, **common} for name, cluster in CLUSTERS.items()}
    groups = {"flower_hub": {"hosts": {config["hub_host"]: config.get("hub_vars")}}, "flower_sites": {"hosts": sites}}
    constructed = {
        "plugin": "ansible.builtin.constructed",
        **{key: config[key] for key in ("compose", "groups", "keyed_groups") if key in config},
    }
    (scratch / "01-fleet.yml").write_text(yaml.safe_dump({"all": {"children": groups}}), encoding="utf-8")
    (scratch / "99-constructed.yml").write_text(yaml.safe_dump(constructed), encoding="utf-8")
    (scratch / "group_vars").symlink_to(plugin.parent / "group_vars")
    return scratch


def ocm_objects(spec: SiteSpec) -> list[Object]:
    """Everything on the hub of Open Cluster Management for a site."""
    objects = supernode.objects(spec)
    apps = [item for item in objects if clientapp.is_one(item)]
    common, own = delivery.split(item for item in objects if not clientapp.is_one(item))
    configs = addon_objects.configs(spec, common)
    asked = request(spec)
    return [
        *configs,
        addon_objects.managed_addon(spec, map(addon_objects.config_reference, configs), apps=bool(apps)),
        key_work.idle_work(spec, asked["secrets"], ADDON),
        key_work.keygen_work(spec, {**asked, "owner": {**asked["owner"], "uid": "4-5-6"}}, shipped.files(), 60, ADDON),
        nodes_work.build(spec, own, ADDON, "mark"),
        *(app_versions.objects(spec, apps, rules=True) if apps else []),
    ]


def request(spec: SiteSpec) -> dict[str, Any]:
    """What the job of a site is asked for that has no keys yet."""
    pools = [
        {"name": pool.name, "names": [str(number) for number in range(pool.replicas)], "offset": 0}
        for pool in spec.pools
    ]
    return drafts.request_of(spec, pools, dead=[], client=spec.cluster, listener="", drop={}, renew={})


def draft(spec: SiteSpec) -> drafts.Draft:
    """The first bundle of a site whose SuperNodes are registered."""
    serving = {pool.name: {str(number): "SHA256:key" for number in range(pool.replicas)} for pool in spec.pools}
    return drafts.draft(
        spec, supernode.objects(spec), request(spec), hub="hub-1", serving=serving, certified=True, before=None
    )


def digest(value: Any) -> str:
    """The beginning of the SHA-256 of some bytes, or of a value as JSON."""
    data = value if isinstance(value, bytes) else json.dumps(value, sort_keys=True).encode()
    return hashlib.sha256(data).hexdigest()[:16]


def digests(objects: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Kind, namespace and name -> digest."""
    found: dict[str, str] = {}
    for one in objects:
        meta = one["metadata"]
        name = f"{one['kind']} {meta['namespace'] + '/' if meta.get('namespace') else ''}{meta['name']}"
        while name in found:
            name += "'"
        found[name] = digest(one)
    return found


def main() -> None:
    """Print inventory, host and delivery -> digests of the objects."""
    init_plugin_loader([])
    found = {}
    for name, path in sources().items():
        with tempfile.TemporaryDirectory() as scratch, compiled_once():
            found |= {f"{name}: {what}": digests(objects) for what, objects in Example(path, Path(scratch)).rendered()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
