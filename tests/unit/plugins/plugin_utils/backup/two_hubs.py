# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Objects in place of two clusters, and the actions on a hub and its standby on them."""

from __future__ import annotations

import copy
import json
from types import SimpleNamespace

from ansible_collections.federated.flower.plugins.plugin_utils.backup import leadership
from ansible_collections.federated.flower.plugins.plugin_utils.backup.hub_objects import TERM
from ansible_collections.federated.flower.plugins.plugin_utils.backup.hub_pair import End
from ansible_collections.federated.flower.plugins.plugin_utils.base.labels import record_labels
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster

SPACE = "flower"


class Kept(Cluster):
    """A cluster that has a few objects."""

    def __init__(self, name):
        self.name = self.server = name
        self.objects = {}

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        return None

    def put(self, kind, name, **content):
        """Put an object there."""
        meta = {"name": name, "namespace": SPACE, "uid": f"{self.name}-{name}", "resourceVersion": "1", **content.pop("metadata", {})}
        self.objects[kind, name] = {"kind": kind, "metadata": meta, **content}

    def put_hub(self, identity="id"):
        """Put there what makes a hub, with a SuperLink that is ready."""
        self.put("ConfigMap", "flower-ledger", data={"ledger.json": json.dumps({"id": identity})})
        self.put("ConfigMap", "flower-federation", data={"version": "1.41.0"})
        self.put("PersistentVolumeClaim", "data-superlink-0")
        self.put("PersistentVolumeClaim", "superlink-outputs")
        self.put("StatefulSet", "superlink", spec={"replicas": 1})
        self.put("Pod", "superlink-0", status={"containerStatuses": [{"name": "superlink", "ready": True}]})

    def put_term(self, term):
        """Put a record there."""
        labels = record_labels("flower", TERM, "standby")
        self.put("ConfigMap", TERM, metadata={"labels": labels}, data={"standby.json": term.text()})

    def term(self):
        """The record."""
        item = self.objects.get(("ConfigMap", TERM))
        return item and leadership.parse(item["data"]["standby.json"], self.name)

    def request(self, method, path, **_more):
        """That it answers."""
        assert (method, path) == ("GET", "/version")
        return {}

    def get(self, _version, kind, name, _namespace=None):
        """An object, or None."""
        return copy.deepcopy(self.objects.get((kind, name)))

    def list(self, *_arguments, **_more):
        """Nothing: no test looks for what it does not name."""
        return []

    def access_review(self, checks):
        """No right to look at other namespaces."""
        return [False for _check in checks]

    def replace(self, obj):
        """Write an object that was read."""
        self.objects[obj["kind"], obj["metadata"]["name"]] = copy.deepcopy(dict(obj))
        return dict(obj)

    create = replace


def act(module, host, clusters, specs, **given):
    """Run an action for a host: an inventory name of C(clusters) and of C(specs), which may be text for one of them."""
    action = object.__new__(module.ActionModule)
    action.inventory_host = host
    action.task_vars = {}
    action._task = SimpleNamespace(check_mode=given.pop("check", False), no_log=False)
    action.connect = lambda name=None, **_more: clusters[name or host]
    action.own = lambda _params, cluster: End(host, cluster, specs[host], f"{SPACE}-ca")
    action.described = lambda name, cluster, _facts: End(name, cluster, specs[name], f"{SPACE}-ca")
    action.say = lambda _text: None
    action.note = lambda *_site, **_facts: None
    action.assure = lambda _standby: None
    params = action._checked(action.ARGS, action.SPEC, {"spec": {}, "ca_namespace": f"{SPACE}-ca", "hub_described": {"spec": {}}, **given}, "")
    return action.execute(params, {})
