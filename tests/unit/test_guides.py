# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Examples of the documentation: Ansible and the shell parse each command, and the collection has each playbook, variable and option in them."""

from __future__ import annotations

import ast
import configparser
import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import tomllib
import yaml
from ansible.cli.playbook import PlaybookCLI
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.parsing.splitter import parse_kv

from ansible_collections.federated.flower.plugins.plugin_utils.checks import variables
from ansible_collections.federated.flower.tests.unit.guide_blocks import BLOCKS, COMMANDS, PAGES, SHELL
from ansible_collections.federated.flower.tests.unit.read import PLAYBOOKS, ROOT, role_options, yaml_file

DOCS = ROOT / "docs" / "docsite"
ROLES = sorted(path.parent.parent.name for path in ROOT.glob("roles/*/meta/argument_specs.yml"))
#: Most lines of a guide.
LINES = 250
#: Groups, and variables of a playbook in C(examples).
GROUPS = {"flower_hub", "flower_sites", "flower_standby"}
OF_EXAMPLES = {"study_tables", "study_overwrite"}
#: What the style guide of the Kubernetes documentation advises against.
FILLERS = r"simply|just|easy|easily|obviously|basically|of course|please|in order to|currently|we|our|utilize|leverage|e\.g\.|i\.e\.|etc\."


PROGRAM = "ansible-playbook"
PARSER = PlaybookCLI([PROGRAM])
PARSER.init_parser()


def arguments(command: str) -> list[str]:
    """The words after C(ansible-playbook); C(…) stands for words that were shown before."""
    words = shlex.split(command, comments=True)
    return [word for word in words[words.index("ansible-playbook") + 1 :] if word != "…"]


def extra_variables(given: list[str]) -> Iterator[str]:
    """Names of the variables of C(-e)."""
    for text in given:
        if text.startswith("{"):
            yield from json.loads(text)
        elif not text.startswith("@"):
            yield from parse_kv(text)


def is_known(name: str) -> bool:
    return name in variables.known() or name in GROUPS | OF_EXAMPLES or any(name in role_options(role) for role in ROLES)


def test_there_are_examples() -> None:
    assert len(BLOCKS) > 200 and len(COMMANDS) > 200
    assert len([one for one in COMMANDS if "ansible-playbook" in one.text]) > 100


def test_the_shell_parses_each_command() -> None:
    for page in dict.fromkeys(one.block.page for one in COMMANDS):
        script = "\n".join(one.text for one in COMMANDS if one.block.page == page)
        done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
        assert done.returncode == 0, f"{page}: {done.stderr}"


def test_ansible_parses_each_command_and_the_collection_has_what_it_names() -> None:
    wrong = []
    for block, command in ((one.block, one.text) for one in COMMANDS):
        if not re.search(r"(^|[ ;&(])ansible-playbook ", command):
            continue
        words = arguments(command)
        try:
            given = PARSER.parser.parse_args(words if any("federated.flower." in one or one.endswith(".yml") for one in words) else [*words, "same.yml"])
        except SystemExit:
            wrong.append(f"{block}: ansible-playbook refuses the options: {command}")
            continue
        for playbook in given.args:
            name = playbook.removeprefix("federated.flower.")
            exists = f"{name}.yml" in PLAYBOOKS if name != playbook else (ROOT / playbook).exists() or "/" not in playbook
            if not exists:
                wrong.append(f"{block}: no playbook {playbook}")
        wrong += [f"{block}: no variable {name}" for name in extra_variables(given.extra_vars or []) if not is_known(name)]
        wrong += [f"{block}: no {path}" for path in given.inventory or [] if path.startswith(("inventories/", "examples/")) and not (ROOT / path).exists()]
    assert not wrong, "\n".join(wrong)


def test_files_and_targets_of_commands_exist() -> None:
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    path_of = re.compile(r"(?<![\w/.-])(?:\$PWD/)?((?:examples|inventories|tests)/[\w./-]*\w)")
    wrong = []
    for block, command in ((one.block, one.text) for one in COMMANDS):
        wrong += [f"{block}: no {path}" for path in path_of.findall(command) if not (ROOT / path).exists()]
        wrong += [f"{block}: no target {name}" for name in re.findall(r"^make (?:-s )?([a-z][\w-]*)", command) if name not in targets]
    assert not wrong, "\n".join(wrong)


class Loader(yaml.SafeLoader):
    """Refuses a key that a mapping has twice; knows the tags of Ansible."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _value in node.value]
        assert len(keys) == len(set(map(str, keys))), f"twice: {keys}"
        return super().construct_mapping(node, deep)


for tag in ("!vault", "!unsafe"):
    Loader.add_constructor(tag, lambda loader, node: str(node.value))


def files(text: str) -> list[str]:
    """The files that an example shows one after the other: each begins with a comment that has its name."""
    return [part for part in re.split(r"^(?=# \S+\.ya?ml\b)|^---$", text, flags=re.M) if part.strip()]


def keys(value: Any) -> Iterator[tuple[str, Any]]:
    """All keys of mappings with their values, at any depth."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if isinstance(key, str):
            yield key, item
        yield from keys(item)


def with_words(value: Any) -> bool:
    """Whether a value has a template or dots for what is left out, which have no type yet."""
    return any(mark in str(value) for mark in ("{{", "…"))


def options() -> dict[str, dict[str, Any]]:
    """The specification of each option of a role, and of each variable that gives one its default."""
    found = {}
    for role in ROLES:
        own = role_options(role)
        found.update(own)
        for name, default in yaml_file("roles", role, "defaults", "main.yml").items():
            if shared := re.match(r"\{\{ (flower_\w+) \| default\(", str(default)):
                found.setdefault(shared[1], own[name])
    return found


OPTIONS = options()


def faults(name: str, value: Any) -> list[str]:
    """What the argument specification of its role says about a value."""
    if name not in OPTIONS or with_words(value):
        return []
    return [str(one) for one in ArgumentSpecValidator({name: {**OPTIONS[name], "required": False}}).validate({name: value}).error_messages]


YAML = [block for block in BLOCKS if block.language in ("yaml", "yaml+jinja")]


@pytest.mark.parametrize("page", list(dict.fromkeys(block.page for block in YAML)))
def test_yaml_is_valid_with_variables_that_exist(page: str) -> None:
    wrong = []
    for block in (one for one in YAML if one.page == page):
        for text in files(block.text):
            try:
                content = yaml.load(text, Loader=Loader)
            except (yaml.YAMLError, AssertionError) as error:
                wrong.append(f"{block}: {error}")
                continue
            for name, value in keys(content):
                if name.startswith(variables.PREFIXES) and not is_known(name):
                    wrong.append(f"{block}: no variable {name}")
                wrong += [f"{block}: {name}: {fault}" for fault in faults(name, value)]
                if name == "import_playbook" and f"{value.removeprefix('federated.flower.')}.yml" not in PLAYBOOKS:
                    wrong.append(f"{block}: no playbook {value}")
    assert not wrong, "\n".join(wrong)


def test_other_examples_are_valid() -> None:
    for block in BLOCKS:
        if block.language == "python":
            ast.parse(block.text)
        elif block.language == "toml":
            tomllib.loads(block.text)
        elif block.language == "ini":
            configparser.ConfigParser().read_string(block.text)
        elif block.language == "json":
            json.loads(block.text)
        else:
            assert block.language in (*SHELL, "yaml", "yaml+jinja", "text", "dockerfile"), f"{block}: nothing checks {block.language}"


# ---- pages -------------------------------------------------------------------------------------------------------------


def test_each_guide_is_in_the_table_of_contents_once() -> None:
    listed = [name for section in yaml_file("docs", "docsite", "extra-docs.yml")["sections"] for name in section["toctree"]]
    assert sorted(listed) == sorted(path.stem for path in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_guide_is_short(page: Path) -> None:
    assert len(page.read_text(encoding="utf-8").splitlines()) <= LINES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_guide_has_no_fillers(page: Path) -> None:
    """In prose: comments and outputs in blocks are indented, or in double backquotes."""
    lines = [re.sub(r"``[^`]+``", "", line) for line in page.read_text(encoding="utf-8").splitlines() if not line.startswith("    ")]
    found = [line for line in lines if re.search(rf"\b(?:{FILLERS})(?!\w)", line, re.I)]
    assert [line for line in found if "just before" not in line and "just after" not in line] == []


def test_links_of_the_readme_lead_to_files() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"\]\((?:https://github\.com/federated-flower/federated\.flower/(?:blob|tree)/main/)?([\w][\w./-]*)\)", text)
    assert len(found) > 20 and [path for path in found if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pictures_exist_and_have_a_text(page: Path) -> None:
    for found in re.finditer(r"^ *\.\. (?:image|figure):: (\S+)\n((?: +:.*\n)*)", page.read_text(encoding="utf-8"), re.M):
        assert (page.parent / found[1]).resolve().is_file(), found[1]
        assert ":alt:" in found[2], found[1]


@pytest.mark.parametrize("picture", sorted(DOCS.glob("rst/images/*.svg")), ids=lambda picture: picture.stem)
def test_pictures_fit_light_and_dark_pages(picture: Path) -> None:
    text = picture.read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    assert root.find("{*}title") is not None and root.find("{*}desc") is not None
    assert "prefers-color-scheme: dark" in text and not re.search(r' (?:fill|stroke)="#', text), "colours are in classes"
