# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables with which the guide pins images by digest leave none out."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.manifests.pod import UPSTREAM_IMAGES
from ansible_collections.federated.flower.tests.unit import specs
from ansible_collections.federated.flower.tests.unit.read import ROOT, yaml_file
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.specs import supernode_objects

GUIDE = ROOT / "docs" / "docsite" / "rst" / "guide_app_image.rst"


def pinned() -> dict[str, str]:
    """Options of both roles -> images, by the variables that the guide pins."""
    text = GUIDE.read_text(encoding="utf-8")
    block = text.split("Pin images by digest\n")[1].split(".. code-block:: yaml\n\n")[1].split("\n\n")[0]
    given: dict[str, str] = yaml.safe_load(block)
    found = {}
    for role in ("superlink", "supernode"):
        for option, default in yaml_file("roles", role, "defaults", "main.yml").items():
            source = next((name for name in given if name == option or re.match(rf"{{{{ {name} \|", str(default))), "")
            found |= {option: given.pop(source) if source == option else given[source]} if source else {}
    return found


VARIANTS: dict[str, list[dict[str, Any]]] = {
    "superlink": [
        {},
        {"isolation": "subprocess"},
        {"client_certificates": "none"},
        {"outputs_enabled": False},
    ],
    "supernode": [
        {},
        {"http_proxy": {"address": "proxy:3128"}},
        {"isolation": "subprocess"},
        {"sidecar": False, "mtls": False},
    ],
}


@each_row(("role", "changes"), [(role, one) for role, listed in VARIANTS.items() for one in listed])
def test_with_the_variables_of_the_guide_every_image_is_pinned(superlink_spec: Any, supernode_spec: Any, role: str, changes: dict[str, Any]) -> None:
    images = {option.removeprefix(f"{role}_"): image for option, image in pinned().items() if option.startswith(f"{role}_")}
    objects = specs.superlink_objects(superlink_spec(**images, **changes)) if role == "superlink" else supernode_objects(supernode_spec(**images, **changes))
    used = set(re.findall(r'"image": "([^"]+)"', json.dumps(objects)))
    assert used and {image for image in used if not re.fullmatch(r"\S+@sha256:[0-9a-f]{64}", image)} == set()
    assert used <= set(images.values())


def test_every_default_image_can_be_pinned() -> None:
    assert "``superlink_outputs_s3.image``" in GUIDE.read_text(encoding="utf-8")  # that of rclone
    assert len(set(pinned().values())) == len({*UPSTREAM_IMAGES} - {"rclone"})
