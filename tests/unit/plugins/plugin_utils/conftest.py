# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Specs made of the roles' own defaults, and golden files.

UPDATE_GOLDEN=1 pytest writes the golden files anew; read the difference before it is committed.
"""

from __future__ import annotations

import copy
import os
from functools import cache
from pathlib import Path
from typing import Any, Callable

import jsonschema
import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.manifests.gitops import manifest
from ansible_collections.federated.flower.plugins.plugin_utils.spec.hub_spec import AddonSpec, HubSpec
from ansible_collections.federated.flower.plugins.plugin_utils.spec.network_spec import (
    LinkSpec,
    ListenerSpec,
    NetworkSiteSpec,
)
from ansible_collections.federated.flower.plugins.plugin_utils.spec.part_spec import Parsed
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec
from ansible_collections.federated.flower.tests.unit import goldens as goldens_on_disk
from ansible_collections.federated.flower.tests.unit.read import role_options, schemas_of
from ansible_collections.federated.flower.tests.unit.specs import CA

ROOT = Path(__file__).resolve().parents[4]


def role_defaults(role: str) -> dict[str, Any]:
    """Defaults of a role's argument specification, without the role's prefix."""
    options = role_options(role)
    return {name[len(role) + 1 :]: copy.deepcopy(option.get("default")) for name, option in options.items()}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of the outputs."""
    folder = tmp_path / "outputs"
    folder.mkdir()
    return folder


@pytest.fixture
def superlink_spec() -> Callable[..., dict[str, Any]]:
    """Function: a superlink spec of the role's defaults and some changes."""

    def make(**changes: Any) -> dict[str, Any]:
        spec = role_defaults("superlink")
        spec["superlink_address"] = spec.pop("address")
        spec.update(cluster="hub", superlink_address="hub.example.com:9092", ca_bundle=CA)
        spec.update(changes)
        return spec

    return make


@pytest.fixture
def supernode_spec() -> Callable[..., dict[str, Any]]:
    """Function: a supernode spec of the role's defaults and some changes."""

    def make(**changes: Any) -> dict[str, Any]:
        spec = role_defaults("supernode")
        spec.update(
            cluster="site-a",
            superlink_address="hub.example.com:9092",
            ca_bundle=CA,
            client_certificate=CA,
            allocation={"default": {"offset": 3, "partitions": 5}},
        )
        spec.update(changes)
        return spec

    return make


def _skupper_spec(role: str, **more: Any) -> Callable[..., dict[str, Any]]:
    def make(**changes: Any) -> dict[str, Any]:
        return {**role_defaults(role), "cluster": "site-a", **more, **changes}

    return make


@pytest.fixture
def site_spec() -> Callable[..., dict[str, Any]]:
    """Function: a spec of the role skupper_site's defaults and some changes."""
    return _skupper_spec("skupper_site", link_access="none")


@pytest.fixture
def link_spec() -> Callable[..., dict[str, Any]]:
    """Function: a spec of the role skupper_link's defaults and some changes."""
    return _skupper_spec("skupper_link")


@pytest.fixture
def listener_spec() -> Callable[..., dict[str, Any]]:
    """Function: a spec of the role skupper_listener's defaults and some changes."""
    return _skupper_spec("skupper_listener")


@pytest.fixture
def ocm_site_spec(supernode_spec: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Function: the spec of a site that is reached through Open Cluster Management."""

    def make(**changes: Any) -> dict[str, Any]:
        behind = {"delivery": "ocm", "key_source": "site", "ocm_cluster": "cluster-a"}
        return supernode_spec(**{**behind, **changes})

    return make


@pytest.fixture
def ocm_addon_spec() -> Callable[..., dict[str, Any]]:
    """Function: an add-on's spec of the role's defaults and some changes."""

    def make(**changes: Any) -> dict[str, Any]:
        spec = role_defaults("ocm_addon")
        spec.update(cluster="hub", number_of_clusters="")
        spec.update(changes)
        return spec

    return make


def _parsed(kind: type[Parsed], given: Callable[..., dict[str, Any]]) -> Callable[..., Any]:
    return lambda **changes: kind.parse(given(**changes))


@pytest.fixture
def parsed_hub(superlink_spec: Callable[..., dict[str, Any]]) -> Callable[..., HubSpec]:
    """Function: the same as C(superlink_spec), parsed. So are those below."""
    return _parsed(HubSpec, superlink_spec)


@pytest.fixture
def parsed_site(supernode_spec: Callable[..., dict[str, Any]]) -> Callable[..., SiteSpec]:
    """See C(parsed_hub)."""
    return _parsed(SiteSpec, supernode_spec)


@pytest.fixture
def parsed_ocm_site(ocm_site_spec: Callable[..., dict[str, Any]]) -> Callable[..., SiteSpec]:
    """See C(parsed_hub)."""
    return _parsed(SiteSpec, ocm_site_spec)


@pytest.fixture
def parsed_addon(ocm_addon_spec: Callable[..., dict[str, Any]]) -> Callable[..., AddonSpec]:
    """See C(parsed_hub)."""
    return _parsed(AddonSpec, ocm_addon_spec)


@pytest.fixture
def parsed_network_site(site_spec: Callable[..., dict[str, Any]]) -> Callable[..., NetworkSiteSpec]:
    """See C(parsed_hub)."""
    return _parsed(NetworkSiteSpec, site_spec)


@pytest.fixture
def parsed_link(link_spec: Callable[..., dict[str, Any]]) -> Callable[..., LinkSpec]:
    """See C(parsed_hub)."""
    return _parsed(LinkSpec, link_spec)


@pytest.fixture
def parsed_listener(listener_spec: Callable[..., dict[str, Any]]) -> Callable[..., ListenerSpec]:
    """See C(parsed_hub)."""
    return _parsed(ListenerSpec, listener_spec)


@pytest.fixture
def golden() -> Callable[[str, list[dict[str, Any]]], None]:
    """Function: compare objects with tests/unit/golden/<name>.golden, byte by byte."""

    def compare(name: str, objects: list[dict[str, Any]]) -> None:
        path = goldens_on_disk.path_of(name)
        text = goldens_on_disk.HEAD + manifest(objects)
        if os.environ.get("UPDATE_GOLDEN"):
            assert "PYTEST_XDIST_WORKER" not in os.environ, "golden files follow from each other: without -n, please"
            goldens_on_disk.write(name, text)
        assert path.exists(), f"{path} is missing: UPDATE_GOLDEN=1 pytest writes it"
        assert text == goldens_on_disk.read(name), f"{name} differs: UPDATE_GOLDEN=1 pytest, then read git diff"

    return compare


@pytest.fixture(scope="session")
def goldens() -> dict[str, list[dict[str, Any]]]:
    """Every variant of SuperLink and SuperNodes that a golden file holds: name -> objects; shared by all tests, which change nothing in it."""
    names = [name for name in goldens_on_disk.names() if name.startswith(("superlink-", "supernode-"))]
    found = {name: list(yaml.load_all(goldens_on_disk.read(name), Loader=yaml.CSafeLoader)) for name in names}
    assert len(found) > 10
    return found


def _strict(schema: Any) -> Any:
    """A schema that refuses what an API server would drop without a word."""
    if isinstance(schema, list):
        return [_strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {
        key: {name: _strict(one) for name, one in value.items()} if key == "properties" else _strict(value)
        for key, value in schema.items()
    }
    if found.pop("x-kubernetes-int-or-string", False):
        found["type"] = ["integer", "string"]
    if found.pop("nullable", False):
        found["type"] = [found["type"], "null"]
    open_ended = found.pop("x-kubernetes-preserve-unknown-fields", False)
    if "properties" in found and not open_ended:
        found.setdefault("additionalProperties", False)
    return found


@cache
def _validator(name: str, kind: str) -> jsonschema.Draft4Validator:
    schema = _strict(schemas_of(name)[kind])
    schema["properties"]["metadata"] = {"type": "object"}
    return jsonschema.Draft4Validator(schema)


@pytest.fixture
def schema_faults() -> Callable[[str, dict[str, Any]], list[str]]:
    """Function: what the API server of a hub with these schemas would refuse or drop of an object."""

    def check(name: str, item: dict[str, Any]) -> list[str]:
        errors = _validator(name, item["kind"]).iter_errors(item)
        return [f"{item['kind']} {error.json_path}: {error.message[:200]}" for error in errors]

    return check
