# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Inventory of an Open Cluster Management hub. What is not Ansible's is in plugin_utils/ocm/."""

from __future__ import annotations

DOCUMENTATION = r"""
name: ocm
short_description: Read hosts from an Open Cluster Management hub
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - Reads the ManagedClusters of a hub of Open Cluster Management (OCM) or Red Hat Advanced Cluster Management (ACM) and adds a host for each.
    Objects are delivered through the hub, so no access to the clusters themselves is needed.
  - The configuration is a YAML file whose name ends with C(.ocm.yml) or C(.ocm.yaml).
  - Clusters that the hub has not accepted, and clusters that are being detached, are not added.
  - 'Variables of every host: C(ocm_name) (str), the name of the ManagedCluster; C(ocm_labels) (dict); C(ocm_cluster_set) (str), the cluster set
    of its label; C(ocm_addons) (dict), C(available), C(unhealthy) or C(unreachable) by add-on, from the labels
    C(feature.open-cluster-management.io/addon-*); C(ocm_claims) (dict); C(ocm_kubernetes_version) (str); C(ocm_api_urls) (list), addresses of
    its API server; C(ocm_accepted), C(ocm_joined), C(ocm_available) (bool); C(ocm_availability) (str), C(available), C(unavailable) (reported by
    the cluster) or C(unknown) (no report); C(ocm_conditions) (dict), C(status), C(reason), C(message) and C(since) by type;
    C(ocm_taints) (list of dict), each with C(key), C(value), C(effect) and C(time_added).'
  - 'Resources: C(ocm_capacity) and C(ocm_allocatable) (dict), amounts of resources as Kubernetes writes them; and of what is allocatable
    C(ocm_cpus) (float), C(ocm_memory_bytes) (int), C(ocm_gpus) (int), and C(ocm_gpu_resources) (dict), the number of GPUs by resource. The sums over
    all nodes are OCM''s own. C(ocm_capacity) keeps resources that a cluster no longer has.'
  - 'With O(placement): C(ocm_decision_group) (str), empty for none, and C(ocm_decision_group_index) (int).'
  - C(flower_delivery) is V(ocm). Use O(compose) to change it.
  - 'C(flower_ocm_by_labels) (list) is what rests on labels and other data that the cluster itself may change: V(membership) unless the cluster set of
    its label is one of O(cluster_sets) and not V(default); V(flower_region) if O(compose) derives it from more than C(ocm_cluster_set) and C(ocm_name).
    C(federated.flower.site) refuses new sites, and new regions of sites, by that alone, unless C(flower_ocm_trust_labels) is V(true).'
  - All of these variables are always defined. Unknown values are empty, C(0) or C(false). Values are never evaluated as templates.
  - This plugin is public. Changes of its options follow semantic versioning.
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - ansible.builtin.constructed
  - ansible.builtin.inventory_cache
options:
  plugin:
    description: Name of this plugin. Identifies the configuration file.
    type: str
    required: true
    choices:
      - federated.flower.ocm
  cluster_sets:
    description: Names of ManagedClusterSets. Only clusters in one of them are added.
    type: list
    elements: str
    default: []
  label_selector:
    description: Label selector in the syntax of C(kubectl). Only matching clusters are added. For example V(region=eu,gpu in (a100,h100\),!edge).
    type: str
    default: ''
  placement:
    description:
      - Name of a Placement. Only clusters that it has selected are added.
      - The other filters apply, too.
    type: str
    default: ''
  placement_namespace:
    description: Namespace of the Placement. Required with O(placement).
    type: str
    default: ''
  accepted_only:
    description: Skip clusters that the hub has not accepted. Anyone with a bootstrap token can register such a ManagedCluster, with any name and labels.
    type: bool
    default: true
  host_prefix:
    description:
      - Prefix for the names of the hosts. Clusters of two hubs can have the same name, and a cluster can be called C(localhost).
      - The name of a host is the site's name in the ledger. C(ocm_name) remains the name of the ManagedCluster.
    type: str
    default: ''
  sites_group:
    description: Group of all hosts except O(hub_host). Empty for none.
    type: str
    default: flower_sites
  hub_host:
    description:
      - Name of a host for the hub's own cluster. It is added to O(hub_group).
      - A ManagedCluster of this name becomes this host and is not a site.
      - Empty if the hub is defined elsewhere in the inventory.
    type: str
    default: ''
  hub_group:
    description: Group of O(hub_host). O(keyed_groups) cannot add clusters to it.
    type: str
    default: flower_hub
  hub_vars:
    description:
      - Variables of O(hub_host).
      - If they contain none of C(flower_auth), C(flower_kubeconfig) and C(flower_context), the last two are set to O(kubeconfig) and O(context) of this file.
        Other authentication options are not copied, because the inventory would show them.
    type: dict
    default: {}
  gpu_resources:
    description: Names of resources that count as GPUs. C(*) matches any text.
    type: list
    elements: str
    default:
      - nvidia.com/gpu
      - nvidia.com/gpu.shared
      - nvidia.com/mig-*
      - amd.com/gpu
      - gpu.intel.com/i915
      - gpu.intel.com/xe
  timeout:
    description: Seconds to wait for a response of the hub.
    type: float
    default: 30
requirements:
  - kubernetes >= 29.0.0 (Python package, on the controller)
notes:
  - Options can be templates, for example with a lookup.
  - The hub is determined in this order. The options of this file; the E(K8S_AUTH_*) environment variables; E(KUBECONFIG) or C(~/.kube/config);
    the service account of the pod that Ansible runs in.
  - If the inventory cannot be read, Ansible warns and continues without it. E(ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=true) makes it an error.
  - >-
    Needs the right to C(list) C(managedclusters.cluster.open-cluster-management.io) on the whole hub; with O(cluster_sets) to C(get) C(managedclustersets)
    there; with O(placement) to C(get) C(placements) and C(list) C(placementdecisions) in O(placement_namespace).
  - The managed cluster itself writes its status, including claims and resources, and may change its labels, except the label of its cluster set, which
    a webhook of Open Cluster Management guards. Select clusters by O(cluster_sets), and set what affects more than that cluster in host variables.
seealso:
  - ref: ansible_collections.federated.flower.docsite.guide_ocm_inventory
    description: Guide with the output of an example.
"""

EXAMPLES = r"""
---
# fleet.ocm.yml: all clusters of the hub that K8S_AUTH_KUBECONFIG or ~/.kube/config selects
plugin: federated.flower.ocm

---
# Hub and sites from one file; groups region_eu, gpu_a100, canary
plugin: federated.flower.ocm
kubeconfig: ~/.kube/fleet
context: hub
hub_host: hub
cluster_sets:
  - hospitals-eu
  - hospitals-us
label_selector: gpu in (a100,h100)
compose:
  flower_region: ocm_cluster_set.split('-')[1]
keyed_groups:
  - key: flower_region
    prefix: region
  - key: ocm_labels.gpu | default('')
    prefix: gpu
groups:
  canary: "'canary' in ocm_labels"
  up: ocm_available
strict: true

---
# The clusters that a Placement has selected, cached for ten minutes, with a token from the environment
plugin: federated.flower.ocm
host: https://api.hub.example.com:6443
api_key: "{{ lookup('ansible.builtin.env', 'HUB_TOKEN') }}"
ca_cert: ~/.kube/hub-ca.crt
placement: flower-sites
placement_namespace: flower
cache: true
cache_plugin: ansible.builtin.jsonfile
cache_connection: ~/.cache/flower-inventory
cache_timeout: 600
"""

import re
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable

from ansible_collections.federated.flower.plugins.plugin_utils.actions.filters import unsafe
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.plain_data import to_json_data
from ansible_collections.federated.flower.plugins.plugin_utils.kube.auth import AUTH_ARGS
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import connect
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import clusters as host_names
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import managed_clusters as hub

_SUFFIXES = (".ocm.yml", ".ocm.yaml")
_ACCESS = {"flower_auth", "flower_kubeconfig", "flower_context"}
# Variables that no cluster can change by itself.
_GUARDED = {"ocm_name", "ocm_cluster_set"}


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):
    """See the documentation above."""

    NAME = "federated.flower.ocm"

    def verify_file(self, path: str) -> bool:
        """Whether the name of the file is one for this plugin."""
        return super().verify_file(path) and path.endswith(_SUFFIXES)

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Called by Ansible."""
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        self.load_cache_plugin()
        auth = {name: self._option(name) for name in AUTH_ARGS if self.has_option(name)}
        auth = {name: value for name, value in auth.items() if value is not None}
        question, hub_variables = self._question(), self._hub_variables(auth)
        try:
            answer = self._answer(path, auth, question, cache)
        except ClusterError as error:
            raise AnsibleParserError(error.message) from error
        for remark in answer["remarks"]:
            self.display.warning(f"{path}: {remark}")
        self._populate(path, answer["clusters"], hub_variables)

    def _option(self, name: str) -> Any:
        """An option, templated."""
        return to_json_data(self.templar.template(self.get_option(name)))

    def _question(self) -> hub.Question:
        question = hub.Question(
            cluster_sets=tuple(self._option("cluster_sets")),
            label_selector=self._option("label_selector"),
            placement=self._option("placement"),
            placement_namespace=self._option("placement_namespace"),
            accepted_only=self._option("accepted_only"),
            gpu_resources=tuple(self._option("gpu_resources")),
        )
        if bool(question.placement) != bool(question.placement_namespace):
            raise AnsibleParserError("placement and placement_namespace are needed together.")
        return question

    def _answer(self, path: str, auth: Mapping[str, Any], question: hub.Question, cache: bool) -> dict[str, Any]:
        """The hub's answer, or the one that is kept of the same question to the same hub."""
        keep = self.get_option("cache")
        key = f"{self.get_cache_key(path)}_{question.key(auth)}"
        if keep and cache:
            try:
                return self._cache[key]
            except KeyError:  # none yet, or too old
                pass
        with connect(auth, timeout=self.get_option("timeout")) as cluster:
            answer = hub.ask(cluster, question)
        if keep:
            self._cache[key] = answer
        return answer

    def _hub_variables(self, auth: Mapping[str, Any]) -> dict[str, Any]:
        """Variables of the hub's host: those of the user, and its authentication unless they have it."""
        given = dict(self.get_option("hub_vars"))
        if not self._option("hub_host") or _ACCESS & given.keys():
            return given
        copied = {"kubeconfig", "context"}
        secret = sorted(auth.keys() - copied)
        if secret or not isinstance(auth.get("kubeconfig", ""), str):
            raise AnsibleParserError(
                f"hub_host: {', '.join(secret) or 'a kubeconfig that is not a path'} would be shown in the inventory if it were copied: "
                "set the hub's authentication in hub_vars, with flower_auth, flower_kubeconfig or flower_context."
            )
        return {f"flower_{name}": auth[name] for name in copied & auth.keys()} | given

    def _report(self, path: str, problem: str) -> None:
        """Warn of a problem, which is an error with C(strict)."""
        if self.get_option("strict"):
            raise AnsibleParserError(problem)
        self.display.warning(f"{path}: {problem}")

    def _populate(self, path: str, clusters: list[dict[str, Any]], hub_variables: Mapping[str, Any]) -> None:
        prefix, sites = self._option("host_prefix"), self._option("sites_group")
        hub_host, hub_group = self._option("hub_host"), self._option("hub_group")
        sites = sites and self.inventory.add_group(sites)
        if hub_host:
            self.inventory.add_host(hub_host, self.inventory.add_group(hub_group))
        for cluster in clusters:
            host = f"{prefix}{cluster['ocm_name']}"
            if error := host_names.host_name_error(host, (sites, hub_group)):
                self._report(path, f"the cluster {cluster['ocm_name']!r} cannot be a host: {error}. Set host_prefix to rename it.")
                continue
            is_site = host != hub_host
            self.inventory.add_host(host, sites if sites and is_site else None)
            for name, value in unsafe(cluster).items():
                self.inventory.set_variable(host, name, value)
            if is_site:
                self.inventory.set_variable(host, "flower_delivery", "ocm")
                self.inventory.set_variable(host, "flower_ocm_by_labels", self._by_labels(cluster))
            self._construct(path, host, hub_group if is_site else "")
        # Last, so that they take precedence over a ManagedCluster of that name.
        for name, value in hub_variables.items():
            self.inventory.set_variable(hub_host, name, value)

    def _by_labels(self, cluster: Mapping[str, Any]) -> list[str]:
        """What of a host rests on data that its cluster may change itself."""
        compose = self.get_option("compose") or {}
        words: set[str] = set()
        left = {"flower_region"}
        while left:
            new = {*re.findall(r"\w+", str(compose.get(left.pop(), "")))} - words
            words |= new
            left |= new & compose.keys()
        found = [] if cluster["ocm_cluster_set"] in {*self._option("cluster_sets")} - {"default"} else ["membership"]
        return found + ["flower_region"] * any(word.startswith("ocm_") for word in words - _GUARDED)

    def _construct(self, path: str, host: str, forbidden: str) -> None:
        """Variables and groups that the user wants of a host; C(forbidden) is the group that keys must not create: their values may come from the cluster."""
        found, strict = self.inventory.get_host(host), self.get_option("strict")
        self._set_composite_vars(self.get_option("compose"), found.get_vars(), host, strict=strict)
        variables = found.get_vars()
        self._add_host_to_composed_groups(self.get_option("groups"), variables, host, strict=strict, fetch_hostvars=False)
        before = {group.name for group in found.groups}
        self._add_host_to_keyed_groups(self.get_option("keyed_groups"), variables, host, strict=strict, fetch_hostvars=False)
        for group in [group for group in found.groups if group.name == forbidden and group.name not in before]:
            group.remove_host(found)
            self._report(path, f"keyed_groups would put the cluster {host!r} into {forbidden}: set a prefix for each key.")
