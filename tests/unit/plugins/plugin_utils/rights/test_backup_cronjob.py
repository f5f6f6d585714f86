# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""examples/backup-cronjob has manifests that Kubernetes knows, the rights of the table, and variables of the collection."""

from __future__ import annotations

import re
from typing import Any

from kubernetes import client

from ansible_collections.federated.flower.plugins.plugin_utils.checks import variables
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.role_objects import rights_objects
from ansible_collections.federated.flower.tests.unit.read import ROOT, yaml_file
from ansible_collections.federated.flower.tests.unit.rows import each_row

HOME = ROOT / "examples" / "backup-cronjob"
SUBJECT = {"kind": "ServiceAccount", "name": "flower-backup", "namespace": "flower-backup"}
KUSTOMIZATION = yaml_file("examples", "backup-cronjob", "kustomization.yml")


def documents(name: str) -> list[dict[str, Any]]:
    found = yaml_file("examples", "backup-cronjob", name)
    return found["items"] if found["kind"] == "List" else [found]


OBJECTS = [one for name in KUSTOMIZATION["resources"] for one in documents(name)]


def one(kind: str) -> dict[str, Any]:
    (found,) = (item for item in OBJECTS if item["kind"] == kind)
    return found


def faults(model: str, value: Any, at: str = "") -> list[str]:
    """Fields that the Kubernetes API does not have, by the models of its client."""
    inner = re.fullmatch(r"[Ll]ist\[(.+)\]|[Dd]ict[\[(]str, (.+)[\])]", model)  # how they are spelled depends on the release
    if inner:
        entries = enumerate(value) if inner[1] else value.items()
        return [fault for key, entry in entries for fault in faults(inner[1] or inner[2], entry, f"{at}.{key}")]
    kind = getattr(client, model, None)
    if kind is None:
        plain = {"str": str, "int": int, "bool": bool}.get(model)
        return [] if plain is None or isinstance(value, plain) else [f"{at}: {value!r} is not of type {model}"]
    names = {name: attribute for attribute, name in kind.attribute_map.items()}
    found = [f"{at}.{key}: there is no such field" for key in value if key not in names]
    return found + [fault for key in value if key in names for fault in faults(kind.openapi_types[names[key]], value[key], f"{at}.{key}")]


@each_row("item", OBJECTS)
def test_kubernetes_knows_every_field(item):
    assert faults(f"V1{item['kind']}", item) == []


def test_every_file_is_used():
    used = {*KUSTOMIZATION["resources"], *KUSTOMIZATION["configMapGenerator"][0]["files"], "kustomization.yml", "README.md"}
    assert {path.name for path in HOME.iterdir()} == used


def test_the_rights_are_those_of_the_table(superlink_spec):
    given = {"backup": SUBJECT, "ca_namespace": "flower-ca"}
    wanted = [item for item in rights_objects("superlink", superlink_spec(), given) if item["metadata"]["name"] == "flower-hub-backup"]
    assert documents("rights.yml") == wanted
    assert one("ServiceAccount")["metadata"] == {name: SUBJECT[name] for name in ("name", "namespace")}


def test_what_refers_to_something_finds_it():
    job = one("CronJob")["spec"]["jobTemplate"]["spec"]
    pod = job["template"]["spec"]
    (container,) = pod["containers"]
    volumes = {entry["name"]: entry for entry in pod["volumes"]}
    mounts = {entry["mountPath"]: volumes[entry["name"]] for entry in container["volumeMounts"]}
    (made,) = KUSTOMIZATION["configMapGenerator"]
    assert mounts["/inventory"]["configMap"]["name"] == made["name"] and container["args"][2] == f"/inventory/{made['files'][0]}"
    hub = yaml_file("examples", "backup-cronjob", "fleet.yml")["all"]["children"]["flower_hub"]["hosts"]["hub"]
    assert mounts[hub["flower_backup_directory"]]["persistentVolumeClaim"]["claimName"] == one("PersistentVolumeClaim")["metadata"]["name"]
    assert pod["serviceAccountName"] == SUBJECT["name"]
    assert {item["metadata"].get("namespace") for item in OBJECTS if item["kind"] not in ("Namespace", "Role", "RoleBinding")} == {"flower-backup"}
    environment = [entry["name"] for entry in container["env"]]
    assert [name for name in environment if f"'{name}'" in hub["flower_backup_recipients"]] == ["FLOWER_BACKUP_RECIPIENTS"]
    (secret,) = (entry["valueFrom"]["secretKeyRef"] for entry in container["env"] if "valueFrom" in entry)
    assert f"create secret generic {secret['name']} --from-literal={secret['key']}=" in (HOME / "README.md").read_text(encoding="utf-8")


def test_the_inventory_has_variables_of_the_collection():
    groups = yaml_file("examples", "backup-cronjob", "fleet.yml")["all"]["children"]
    hosts = {name: found or {} for group in groups.values() for name, found in group["hosts"].items()}
    assert {name: variables.faults(name, found) for name, found in hosts.items()} == dict.fromkeys(hosts, [])
    assert not {"flower_context", "flower_kubeconfig", "flower_backup_identity"} & hosts["hub"].keys()


def test_the_playbook_and_the_image_are_those_of_the_project():
    (container,) = one("CronJob")["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert (ROOT / "playbooks" / f"{container['args'][-1].removeprefix('federated.flower.')}.yml").exists()
    assert f"--tag {container['image']}\n" in (ROOT / "examples/awx-project/execution-environment.yml").read_text(encoding="utf-8")


def test_the_pod_is_restricted():
    pod = one("CronJob")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    security = pod["containers"][0]["securityContext"]
    assert security == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
