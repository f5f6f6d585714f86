# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Roles work with the hub that their variable names, and say which variable names it where no group does."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.federated.flower.tests.unit.read import trusted, yaml_file
from ansible_collections.federated.flower.tests.unit.rows import each_row

HUBS = {
    "other": {"superlink_renew_before": "9d", "superlink_certificates_source": "existing", "superlink_certificate_days": 7},
    "named": {"superlink_renew_before": "2d", "superlink_certificates_source": "cert_manager", "superlink_certificate_days": 30},
    "shared": {"flower_renew_before": "3h", "flower_certificates_source": "existing"},
    "bare": {},
}
GROUPS = {"flower_hub": ["other"], "flower_sites": ["site-a"]}


def value(role: str, name: str, file: str = "defaults", **given: Any) -> Any:
    """A variable of a role as Ansible evaluates it."""
    variables = trusted({**yaml_file("roles", role, file, "main.yml")}) | {"groups": GROUPS, "hostvars": HUBS, **given}
    return Templar(loader=DataLoader(), variables=variables).template(trusted(f"{{{{ {name} }}}}"))


@each_row(
    ("hub", "expected"),
    [
        ("named", ["2d", "cert_manager", 30]),
        ("shared", ["3h", "existing", 90]),
        ("bare", ["", "builtin", 90]),
        (None, ["9d", "existing", 7]),
    ],
)
def test_a_rotation_takes_the_settings_of_the_hub_that_is_named(hub: str | None, expected: list[Any]) -> None:
    given = {"cert_rotation_hub": hub} if hub else {}
    # Those of a site say nothing of the hub.
    given |= {"flower_renew_before": "1m", "flower_certificates_source": "existing"}
    names = ("renew_before", "certificates_source", "certificate_days")
    assert [value("cert_rotation", f"cert_rotation_{name}", **given) for name in names] == expected


@each_row(
    ("role", "name", "file"),
    [
        ("supernode", "supernode_hub", "defaults"),
        ("skupper_link", "skupper_link_hub", "defaults"),
        ("cert_rotation", "cert_rotation_hub", "defaults"),
    ],
)
@each_row(
    ("given", "group"),
    [({"groups": {}}, "flower_hub"), ({"groups": {"flower_hub": []}}, "flower_hub"), ({"flower_hub_group": "centre"}, "centre")],
)
def test_a_hub_that_no_group_has_is_asked_for(role: str, name: str, file: str, given: dict[str, Any], group: str) -> None:
    assert value(role, name, file) == "other"
    with pytest.raises(Exception, match=rf"{name} is not set, and no host is in the group {group} \(flower_hub_group\): set it to the inventory"):
        value(role, name, file, **given)
    assert value(role, name, file, **given, **{name: "named"}) == "named"
