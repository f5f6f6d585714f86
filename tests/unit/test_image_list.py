# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The images that the guides list for mirrors: all that are rendered by default, with their tags."""

from __future__ import annotations

import re

from ansible_collections.federated.flower.plugins.plugin_utils.manifests.pod import UPSTREAM_IMAGES
from ansible_collections.federated.flower.tests.unit.read import ROOT, role_options

GUIDES = ROOT / "docs" / "docsite" / "rst"


def upstream() -> set[str]:
    """Images below the registry, of the release that the roles deploy by default."""
    (release,) = {role_options(role)[f"{role}_version"]["default"] for role in ("superlink", "supernode")}
    return {image.format(version=release) for image in UPSTREAM_IMAGES.values()}


def test_the_list_for_mirrors_is_complete() -> None:
    text = (GUIDES / "guide_app_image.rst").read_text(encoding="utf-8")
    section = text.split("Images for a mirror\n")[1].split("\nPin images by digest\n")[0]
    registries = {role_options(role)[f"{role}_image_registry"]["default"] for role in ("superlink", "supernode")}
    (registry,) = registries
    assert set(re.findall(r"^   ``(\S+)``,", section, re.M)) == {f"{registry}/{image}" for image in upstream()}
    variables = set(re.findall(r"``((?:superlink|supernode)_\w+)``", section))
    assert variables <= set(role_options("superlink")) | set(role_options("supernode"))
    for copied in re.findall(r"docker://[^/]+/(\S+)", section):
        assert copied in upstream()


def test_images_in_the_internal_registry_of_openshift() -> None:
    text = (GUIDES / "guide_openshift.rst").read_text(encoding="utf-8")
    named = set(re.findall(r"image-registry\.openshift-image-registry\.svc:5000/images/(\S+)", text))
    assert named == {image.rpartition("/")[2] for image in upstream()}


def test_no_other_image_is_named_in_the_code() -> None:
    """A pod with another default image would be missing from the list."""
    named = re.compile(r"\b(?:docker\.io|quay\.io|ghcr\.io|registry\.k8s\.io|gcr\.io)/[\w./-]+:[\w.-]+")
    files = [*(ROOT / "plugins").rglob("*.py"), *(ROOT / "roles").rglob("*.yml"), *(ROOT / "playbooks").rglob("*.yml")]
    assert {found for path in files for found in named.findall(path.read_text(encoding="utf-8"))} == set()
