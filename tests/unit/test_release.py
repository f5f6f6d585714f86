# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What names the version of the collection has that of galaxy.yml, and the tested versions in docs/dependencies.md are those that tests use."""

from __future__ import annotations

import json
import re
from pathlib import Path

from ansible_collections.federated.flower.plugins.plugin_utils.base.version import VERSION
from ansible_collections.federated.flower.tests.unit.read import yaml_file

ROOT = Path(__file__).parents[2]
GALAXY = yaml_file("galaxy.yml")


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def test_code_and_changelog_have_the_version() -> None:
    assert GALAXY["version"] == VERSION
    assert VERSION in yaml_file("changelogs", "changelog.yaml")["releases"]
    assert f"\nv{VERSION}\n" in text("CHANGELOG.rst")


def test_pages_install_the_version() -> None:
    pages = [ROOT / "README.md", *ROOT.glob("docs/docsite/rst/*.rst")]
    found = [re.findall(r"federated-flower-(\d[\d.]*\d)\.tar|federated\.flower:(\d[\d.]*\d)", page.read_text(encoding="utf-8")) for page in pages]
    assert found[0] and {version for pairs in found for pair in pairs for version in pair if version} == {VERSION}


def test_nothing_is_newer_than_the_version() -> None:
    """Plugins and roles say when they were added, and the project for AWX which version it needs."""
    (needed,) = (one["version"] for one in yaml_file("examples", "awx-project", "collections", "requirements.yml")["collections"])
    found = {"awx-project": needed.removeprefix(">=")}
    for path in (*ROOT.glob("plugins/*/*.py"), *ROOT.glob("plugins/*/*.yml"), *ROOT.glob("roles/*/meta/argument_specs.yml")):
        for version in re.findall(r"^ *version_added: (\S+)", path.read_text(encoding="utf-8"), re.M):
            found[path.relative_to(ROOT).as_posix()] = version
    assert len(found) > 50
    assert {name: version for name, version in found.items() if numbers(version) > numbers(VERSION)} == {}


# ---- tested versions ---------------------------------------------------------------------------------------------


def pinned(path: str, pattern: str) -> str:
    """The version after a text in a file."""
    found = re.search(rf"^\W*{pattern}\W+v?(\d+(?:\.\d+)+)", text(path), re.M)
    assert found, f"{path} does not have {pattern}"
    return found[1]


def module(folder: str, name: str) -> str:
    """The version of a Go module of the test fleet."""
    return pinned(f"tests/fleet/go/{folder}/go.mod", f"(?:require )?{re.escape(name)}")


def package(name: str) -> list[str]:
    """The versions of a Python package with which all tests run, and those with the lowest versions."""
    return [pinned(f"requirements/{file}.txt", name) for file in ("constraints", "lowest")]


def core_collection() -> str:
    """The version of kubernetes.core that is linked beside the collection."""
    info = json.loads((ROOT.parents[1] / "kubernetes" / "core" / "MANIFEST.json").read_text(encoding="utf-8"))
    return str(info["collection_info"]["version"])


SETTINGS = "tests/fleet/flower_fleet/settings.py"
TESTED = {
    "Flower": [pinned(SETTINGS, "FLOWER_VERSION"), pinned("tests/integration/scenarios/test_33_upgrade.py", "OLD, NEW")],
    "Kubernetes": [module("kubernetes", "k8s.io/kubernetes")],
    "OpenShift": [],
    "Open Cluster Management": [module("ocm", "open-cluster-management.io/ocm"), module("ocm-hub", "open-cluster-management.io/ocm")],
    "Skupper": [],
    "ansible-core": package("ansible-core"),
    "Python": [pinned("pyproject.toml", "python_version")],
    "kubernetes.core": [core_collection()],
    "kubernetes (Python)": package("kubernetes"),
    "cryptography (Python)": package("cryptography"),
    "HAProxy": [pinned(SETTINGS, "HAPROXY_TAG")],
    "socat": [pinned(SETTINGS, "SOCAT_TAG")],
    "cert-manager": [module("certmanager", "github.com/cert-manager/cert-manager")],
    "Traefik": [module("traefik", "github.com/traefik/traefik/v3")],
    "Prometheus operator": [module("prometheus-operator", "github.com/prometheus-operator/prometheus-operator")],
    "Flux controllers": [module("flux", "github.com/fluxcd/kustomize-controller")],
    "rclone": [module("rclone", "github.com/rclone/rclone")],
    "MLflow": [pinned("requirements/mlflow.txt", r"mlflow\[auth\]")],
    "ansible-rulebook": [pinned("requirements/eda.txt", "ansible-rulebook")],
}
#: What the collection says elsewhere of the lowest versions.
LOWEST = {
    "Kubernetes": pinned("README.md", "Kubernetes"),
    "ansible-core": yaml_file("meta", "runtime.yml")["requires_ansible"].removeprefix(">="),
    "kubernetes.core": GALAXY["dependencies"]["kubernetes.core"].removeprefix(">=").partition(",")[0],
    "kubernetes (Python)": pinned("meta/ee-requirements.txt", "kubernetes"),
    "cryptography (Python)": pinned("meta/ee-requirements.txt", "cryptography"),
}


def table() -> dict[str, list[str]]:
    """Component -> what is supported, what was tested, and by which tests."""
    section = text("docs/dependencies.md").partition("## Supported and tested versions\n")[2].partition("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines()]
    return {row[0]: row[1:] for row in rows[2:]}


def test_the_table_has_the_versions_that_tests_use() -> None:
    assert {name: re.findall(r"\d+(?:\.\d+)+", row[1]) for name, row in table().items()} == TESTED


def test_the_table_has_the_lowest_versions() -> None:
    shown = {name: row[0].split()[0] for name, row in table().items()}
    assert {name: version for name, version in LOWEST.items() if numbers(version)[:2] != numbers(shown[name])[:2]} == {}


def test_the_table_names_tests() -> None:
    there = {path.stem for path in ROOT.glob("tests/integration/scenarios/test_*.py")}
    found = {name for row in table().values() for name in re.findall(r"test_\w+", row[2])}
    assert len(found) > 10 and found <= there
