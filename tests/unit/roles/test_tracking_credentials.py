# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Credentials that turn out empty, such as those of a lookup that found nothing, are a fault and not left out."""

from __future__ import annotations

from pathlib import Path

import jinja2
import pytest
import yaml
from ansible.plugins.filter.core import dict_to_list_of_dict_key_value_elements

VARIABLES = Path(__file__).parents[3] / "roles" / "superlink" / "vars" / "main.yml"


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({}, []),
        ({"token": "t"}, ["token"]),
        ({"token": ""}, ["token"]),
        ({"username": "jane", "password": ""}, ["password", "username"]),
        ({"username": "jane", "password": "x", "token": None}, ["password", "username"]),
    ],
)
def test_names_of_credentials(given, names):
    template = yaml.safe_load(VARIABLES.read_text(encoding="utf-8"))["__superlink_spec"]["tracking_credentials"]
    environment = jinja2.Environment()
    environment.filters["dict2items"] = dict_to_list_of_dict_key_value_elements
    expression = template.removeprefix("{{ ").removesuffix(" }}")
    assert environment.compile_expression(expression)(superlink_tracking_credentials=given) == names
