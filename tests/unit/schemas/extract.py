# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the schemas beside this file anew: extract.py FOLDER-OF-GO-MODULES (go env GOMODCACHE). See README.md."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
# file -> (module with its version, patterns of its CustomResourceDefinitions)
SOURCES = {
    "ocm-0.16.0": [("ocm@v0.16.0", "manifests/cluster-manager/hub/*.crd.yaml")],
    "ocm-1.2.1": [("ocm@v1.2.1", "manifests/cluster-manager/hub/crds/*.crd.yaml")],
    "policies": [
        ("governance-policy-propagator@v0.17.0", "deploy/crds/*_policies.yaml"),
        ("governance-policy-propagator@v0.17.0", "deploy/crds/*_placementbindings.yaml"),
        ("config-policy-controller@v0.16.0", "deploy/crds/*_configurationpolicies.yaml"),
    ],
}
# file -> the one whose differences from it are stored, as a merge patch
BASES = {"ocm-1.2.1": "ocm-0.16.0"}
# What the collection writes, in the version that it writes.
KINDS = {
    "AddOnDeploymentConfig": "v1alpha1",
    "AddOnTemplate": "v1alpha1",
    "ClusterManagementAddOn": "v1alpha1",
    "ConfigurationPolicy": "v1",
    "ManagedClusterAddOn": "v1alpha1",
    "ManagedClusterSetBinding": "v1beta2",
    "ManifestWork": "v1",
    "ManifestWorkReplicaSet": "v1alpha1",
    "Placement": "v1beta1",
    "PlacementBinding": "v1",
    "Policy": "v1",
}


# What is for people, and what says nothing on whether an object is taken.
LEFT_OUT = (
    "default",
    "description",
    "format",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-validations",
)


def reduced(schema: Any) -> Any:
    """A schema without C(LEFT_OUT)."""
    if isinstance(schema, list):
        return [reduced(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    # a field may be called description, too
    return {
        key: {name: reduced(one) for name, one in value.items()} if key == "properties" else reduced(value)
        for key, value in schema.items()
        if key not in LEFT_OUT
    }


def definitions(modules: Path, sources: list[tuple[str, str]]) -> dict[str, Any]:
    """Kind -> schema of its spec and all else that is written."""
    found = {}
    for module, pattern in sources:
        for path in sorted((modules / "open-cluster-management.io" / module).glob(pattern)):
            # some are Go templates, whose expressions stand alone in a line
            text = "\n".join(line for line in path.read_text(encoding="utf-8").splitlines() if "{{" not in line)
            whole = yaml.safe_load(text)
            kind = whole["spec"]["names"]["kind"]
            for version in whole["spec"]["versions"]:
                if KINDS.get(kind) == version["name"]:
                    schema = reduced(version["schema"]["openAPIV3Schema"])
                    schema["properties"].pop("status", None)
                    found[kind] = schema
    return dict(sorted(found.items()))


def shared(value: Any, known: dict[str, Any]) -> Any:
    """A value in which equal mappings are one object: YAML writes it once and refers to it."""
    if isinstance(value, list):
        return [shared(one, known) for one in value]
    if not isinstance(value, dict):
        return value
    made = {key: shared(one, known) for key, one in value.items()}
    nested = any(isinstance(one, dict) for one in made.values())
    return known.setdefault(json.dumps(made, sort_keys=True), made) if nested else made


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))
    from read import differences

    found = {name: definitions(Path(sys.argv[1]), sources) for name, sources in SOURCES.items()}
    for name, made in found.items():
        base = BASES.get(name)
        stored = {"base": base, "changes": differences(found[base], made)} if base else made
        text = yaml.safe_dump(shared(stored, {}), default_flow_style=None, width=160)
        (HERE / f"{name}.yml").write_text(f"---\n{text}", encoding="utf-8")
        print(name, *made)
