# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role awx asks of the modules of awx.awx, templated by Ansible and checked by the argument specifications of the modules.

No controller is asked. The modules are those of the package C(ansible) in the environment of the tests.
"""

from __future__ import annotations

import importlib
import json
import os
import posixpath
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

from ansible_collections.federated.flower.plugins.plugin_utils.checks import variables as given_variables
from ansible_collections.federated.flower.tests.unit.read import ROOT, yaml_file
from ansible_collections.federated.flower.tests.unit.rows import each_row

ROLE = ROOT / "roles" / "awx"
#: Playbooks that are no job template: this one, those for playbooks of one's own, and those that read or write files on the control node, which a job
#: does not keep.
PARTS = {
    "awx", "connect", "convert", "join", "leaving_statement", "node_facts", "openshift_login", "openshift_logout", "openshift_projects", "render", "restore",
    "return_lease", "schedule", "support", "take_lease",
}  # fmt: skip
#: Modules of objects that all organizations of a controller share.
SHARED = {"credential_type", "execution_environment"}
STUDY = {"Flower run", "Flower runs", "Flower outputs"}
SECRETS = {"fleet-secret", "study-secret", "ocm-secret", "site-secret", "mlflow-secret", "hook-secret"}

LEAST = {"awx_project_path": "flower"}
MOST = {
    "awx_project_url": "https://git.example.com/flower.git",
    "awx_project_branch": "main",
    "awx_project_credential": "git",
    "awx_ocm_path": "ocm",
    "awx_image": "registry.example.com/flower-ee:1",
    "awx_kubeconfig": "fleet-secret",
    "awx_study_kubeconfig": "study-secret",
    "awx_ocm_kubeconfig": "ocm-secret",
    "awx_site_tokens": {"hospital-boston": "site-secret"},
    "awx_tracking_credentials": {"username": "jane", "password": "mlflow-secret"},
    "awx_instance_groups": ["fleet"],
    "awx_notification_templates": [
        {
            "name": "Flower hook",
            "notification_type": "webhook",
            "notification_configuration": {"url": "https://chat.example.com", "password": "hook-secret"},
        }
    ],
}
#: Variables of the role itself that depend on its defaults alone.
STEADY = (
    "__awx_site_credentials", "__awx_tells_tokens", "__awx_of_a_site", "__awx_fleet_credentials", "__awx_study_credentials", "__awx_shared_mark",
    "__awx_in_organization", "__awx_kinds", "__awx_connection",
)  # fmt: skip
Call = tuple[str, dict[str, Any], bool]


class Constructed(Exception):
    """Instead of a connection to a controller."""


@cache
def validator(name: str) -> ArgumentSpecValidator:
    """The argument specification that a module of awx.awx gives to AnsibleModule."""
    module = importlib.import_module(f"ansible_collections.awx.awx.plugins.modules.{name}")
    common = module.ControllerAPIModule.AUTH_ARGSPEC
    found: dict[str, Any] = {}

    def construct(argument_spec: dict[str, Any], **rules: Any) -> None:
        found.update(rules, argument_spec={**common, **argument_spec})
        raise Constructed

    original, module.ControllerAPIModule = module.ControllerAPIModule, construct
    try:
        with pytest.raises(Constructed):
            module.main()
    finally:
        module.ControllerAPIModule = original
    return ArgumentSpecValidator(**found)


@cache
def load(*parts: str) -> Any:
    """A file of the role with its templates."""
    return DataLoader().load_from_file(str(ROLE.joinpath(*parts)), trusted_as_template=True)


def variables(given: dict[str, Any]) -> dict[str, Any]:
    """The role's variables, those templated that no task changes."""
    return {**load("vars", "main.yml"), **steady(json.dumps(given)), **given}


@cache
def steady(given: str) -> dict[str, Any]:
    """The role's defaults, and what depends on them alone, where these variables, as JSON, are given.

    Ansible templates them for each task that names them, which takes long.
    """
    known = {**load("defaults", "main.yml"), **json.loads(given), **load("vars", "main.yml")}
    return {name: templated(known[name], known) for name in (*load("defaults", "main.yml"), *STEADY)}


def scope(given: dict[str, Any]) -> dict[str, Any]:
    """The role's variables when the controller has everything that they name, made by the role."""
    known = {**variables(given), "__awx_organization": {"id": 1}, "__awx_users": []}
    ours = {row["kind"]: row["names"] for row in templated(known["__awx_kinds"], known)}
    ours["teams"] = [row["name"] for row in templated(known["awx_teams"], known)]
    return {**known, "__awx_ours": ours, "__awx_found": {kind: dict.fromkeys(names, "") for kind, names in ours.items()}}


def templated(value: Any, known: dict[str, Any]) -> Any:
    return Templar(loader=DataLoader(), variables=known).template(value)


@cache
def table(name: str) -> list[dict[str, Any]]:
    known = scope(MOST)
    return templated(known[f"awx_{name}"], known)


def conditions(task: dict[str, Any]) -> list[str]:
    given = task.get("when", [])
    return given if isinstance(given, list) else [given]


def single(tasks: list[dict[str, Any]], before: tuple[str, ...] = ()) -> Iterator[dict[str, Any]]:
    """The tasks, those of blocks among them, each with the conditions of its blocks."""
    for task in tasks:
        whole = (*before, *conditions(task))
        yield from single(task["block"], whole) if "block" in task else [{**task, "when": list(whole)}]


def holds(task: dict[str, Any], known: dict[str, Any]) -> bool:
    return all(templated(trust_as_template("{{ " + one + " }}"), known) for one in conditions(task))


@cache
def calls(state: str, *, most: bool) -> list[Call]:
    """Module, arguments and whether the task hides them, in their order."""
    return called(state, scope({**(MOST if most else LEAST), "awx_delete_organization": "true"}))


def due(state: str, known: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Module, task and variables of each call, in their order."""
    for task in single(load("tasks", f"{state}.yml")):
        (module,) = (key for key in task if key.startswith("awx.awx."))
        variable = task.get("loop_control", {}).get("loop_var", "")
        for item in templated(task.get("loop", [None]), known):
            here = {**known, **task.get("vars", {}), variable: item}
            if holds(task, here):
                yield module.removeprefix("awx.awx."), task, here


def modules(state: str, known: dict[str, Any]) -> list[str]:
    """The modules that are called. What they get is not templated, which takes long."""
    return [module for module, _task, _here in due(state, known)]


def called(state: str, known: dict[str, Any]) -> list[Call]:
    found = []
    for module, task, here in due(state, known):
        shared = templated(task.get("module_defaults", {}), here).get(f"awx.awx.{module}", {})
        options = {**shared, **templated(task[f"awx.awx.{module}"], here)}
        found.append((module, json.loads(json.dumps(options)), task.get("no_log", False)))
    return found


def named(module: str, *, most: bool = True) -> list[dict[str, Any]]:
    return [arguments for name, arguments, _hidden in calls("present", most=most) if name == module]


@each_row("most", [True, False])
@each_row("state", ["present", "absent"])
def test_modules_accept_their_arguments(state: str, most: bool) -> None:
    asked = calls(state, most=most)
    faults = {
        f"{name} {options.get('name')}": validator(name).validate(options).error_messages
        for name, options, _hidden in asked
    }
    assert {call: messages for call, messages in faults.items() if messages} == {}
    assert len(asked) > 20


def test_empty_options_are_left_to_the_controller() -> None:
    for most in (True, False):
        empty = [
            (name, key)
            for name, options, _hidden in calls("present", most=most)
            for key, value in options.items()
            if value in ("", [], {}) and (name, key) != ("inventory", "kind")
        ]
        assert empty == []


def test_secrets_are_in_tasks_that_hide_them() -> None:
    asked = [*calls("present", most=True), *calls("absent", most=True)]
    shown = [
        name
        for name, options, hidden in asked
        if not hidden and any(secret in json.dumps(options) for secret in SECRETS)
    ]
    hidden = json.dumps([options for _name, options, hidden in asked if hidden])
    assert shown == []
    assert [secret for secret in SECRETS if secret not in hidden] == []
    assert {options["update_secrets"] for options in named("credential")} == {False}


def test_absent_deletes_what_present_creates_and_nothing_else() -> None:
    with_others = {"inventory_source", "workflow_job_template_node", "schedule", "role"}
    created = [
        (name, options["name"]) for name, options, _hidden in calls("present", most=True) if name not in with_others
    ]
    deleted = [
        (name, options["name"]) for name, options, _hidden in calls("absent", most=True) if options["state"] == "absent"
    ]
    assert sorted(created) == sorted(deleted)
    assert deleted[-1] == ("organization", "Flower")
    for user, used in (
        ("job_template", "inventory"),
        ("inventory", "project"),
        ("project", "credential"),
        ("credential", "credential_type"),
    ):
        kinds = [name for name, _title in deleted]
        assert kinds.index(user) < kinds.index(used)
    assert all(title.startswith("Flower") for _name, title in deleted)


def test_what_others_made_is_not_deleted() -> None:
    """The organization is: connected.yml refuses before, if it is another's."""
    known = scope({**MOST, "awx_delete_organization": "true"})
    known["__awx_ours"] = dict.fromkeys(known["__awx_ours"], [])
    assert modules("absent", known) == ["organization"]


def test_every_object_says_who_made_it() -> None:
    without = {"workflow_job_template_node", "role"}  # parts of others, and no objects of their own
    asked = [(name, options) for name, options, _hidden in calls("present", most=True) if name not in without]
    marks = {name: "(federated.flower.awx: Flower)" if name in SHARED else "(federated.flower.awx)" for name, _options in asked}
    assert [(name, options["name"]) for name, options in asked if not options["description"].endswith(marks[name])] == []
    known = scope(MOST)
    looked_for = {row["kind"] for row in templated(known["__awx_kinds"], known)}
    plurals = {name + "s" if name != "inventory" else "inventories" for name, _options in asked}
    assert plurals - looked_for == {"inventory_sources", "schedules"}, "they are deleted with what they belong to"


def looked(found: dict[str, dict[str, str]], **given: Any) -> tuple[dict[str, Any], list[str]]:
    """The role's variables after existing.yml, and the messages with which it refuses to begin.

    Args:
        found: kind -> name -> description, what the controller has; nothing of the other kinds.
    """
    known = variables({**MOST, "ansible_check_mode": False, **given})
    known.update({"__awx_organization": {"id": 1}, "__awx_users": []})
    rows = templated(known["__awx_kinds"], known)
    known["__awx_found"] = {row["kind"]: found.get(row["kind"], {}) for row in rows}
    refused = []
    for task in load("tasks", "existing.yml")[1:]:
        for row in rows if "loop" in task else [None]:
            here = {**known, **task.get("vars", {}), "__awx_row": row}
            if not holds(task, here):
                continue
            known.update(templated(task.get("ansible.builtin.set_fact", {}), here))
            check = task.get("ansible.builtin.assert")
            if check and not holds({"when": check["that"]}, here):
                refused.append(templated(check["fail_msg"], here))
    return known, refused


def existing(organization: str, mark: str = "") -> dict[str, dict[str, str]]:
    """What a controller has of a console in this organization that all organizations see."""
    mark = mark or f"(federated.flower.awx: {organization})"
    return {
        "execution_environments": {"Flower": f"Ansible {mark}"},
        "credential_types": {"Flower kubeconfig": f"A kubeconfig {mark}", "Flower tracking": mark, "Flower token of hospital-boston": f"Token {mark}"},
    }


def test_a_console_in_another_organization_keeps_what_all_organizations_see() -> None:
    known, refused = looked(existing("Flower"), awx_organization="Beta")
    assert len(refused) == 2, refused
    for words in ("They belong to the console in the organization Flower: all organizations share them", "awx_name", "Nothing was done"):
        assert all(words in one for one in refused), refused
    assert "execution environments that this role did not create: Flower. " in refused[1]
    known, _refused = looked(existing("Flower"), awx_organization="Beta", awx_state="absent")
    assert [name for name in modules("absent", known) if name in SHARED] == []
    known, refused = looked(existing("Flower"), awx_state="absent")
    assert refused == [] and set(modules("absent", known)) == SHARED


def test_the_former_mark_counts_where_the_console_is() -> None:
    """And not for deletion: a console in another organization may have taken over what has it."""
    former = existing("", "(federated.flower.awx)")
    here = {"projects": {"Flower": "Playbooks (federated.flower.awx)"}}
    known, refused = looked({**former, **here})
    assert refused == [] and known["__awx_ours"]["execution_environments"] == ["Flower"]
    _known, refused = looked({**former, "projects": {"Flower": "Playbooks"}})
    assert any("execution environments that this role did not create" in one for one in refused)
    assert "Their descriptions do not end with (federated.flower.awx: Flower)." in refused[0]
    known, _refused = looked({**former, **here}, awx_state="absent")
    assert set(modules("absent", known)) == {"project"}


@each_row(("state", "tokens"), [("present", {"hospital-boston": "site-secret"}), ("present", {}), ("absent", {})])
def test_the_token_of_a_site_that_left_is_deleted(state: str, tokens: dict[str, str]) -> None:
    mark, shared = "(federated.flower.awx)", "(federated.flower.awx: Flower)"
    names = ["Flower token of hospital-boston", "Flower token of gone"]
    credentials = {**dict.fromkeys(names, f"Token {mark}"), "Flower token of others": "Token", "Flower fleet": mark}
    types = {**dict.fromkeys(names, f"Token {shared}"), "Flower token of former": mark, "Flower token of others": "(federated.flower.awx: Beta)"}
    found = {"credentials": credentials, "credential_types": types, "projects": {"Flower": mark}}
    known, refused = looked(found, awx_state=state, awx_site_tokens=tokens)
    assert refused == []
    done = [(name, options) for name, options, _hidden in called(state, known)]
    asked = [(name, options) for name, options in done if options.get("state") == "absent"]
    deleted = [(name, options["name"]) for name, options in asked if "token of" in options["name"]]
    left = names if state == "absent" else names[1:] if tokens else []  # without any token, the file with secrets may be missing
    assert sorted(deleted) == sorted((kind, name) for kind in ("credential", "credential_type") for name in left)
    assert [name for name, _options in deleted] == ["credential"] * len(left) + ["credential_type"] * len(left)
    assert {options["credential_type"] for name, options in asked if name == "credential" and "token of" in options["name"]} == set(left)
    if state == "present" and tokens:
        order = [(name, options.get("state")) for name, options in done]
        assert order.index(("credential", "absent")) > max(number for number, one in enumerate(order) if one[0] == "job_template")


@pytest.mark.parametrize("state", ["present", "absent"])
def test_a_type_that_others_use_stays(state: str) -> None:
    types = dict.fromkeys(("Flower token of gone", "Flower token of used"), "Token (federated.flower.awx: Flower)")
    known, _refused = looked({"credential_types": types}, awx_state=state)
    known["__awx_users"] = trust_as_template("{{ [{'name': 'own'}] if __awx_type == 'Flower token of used' else [] }}")
    deleted = {options["name"] for name, options, _hidden in called(state, known) if name == "credential_type" and options.get("state") == "absent"}
    assert deleted == {"Flower token of gone"}


def test_check_mode_leaves_out_what_needs_an_object_that_is_missing() -> None:
    known, refused = looked({}, ansible_check_mode=True)
    assert refused == [] and set(modules("present", known)) == {
        "organization", "team", "notification_template", "credential_type",
    }  # fmt: skip
    known, _refused = looked(existing("Flower"), ansible_check_mode=True)
    assert "credential_types" not in known["__awx_missing"] and "execution_environments" not in known["__awx_missing"]
    whole = {name for name, _options, _hidden in calls("present", most=True)}
    kinds = ("credential_types", "credentials", "execution_environments", "projects", "inventories", "job_templates")
    assert set(kinds) <= set(sum(known["__awx_stages"], []))
    known = scope({**MOST, "awx_delete_organization": "true"})
    asked = {kind: set(modules("present", {**known, "__awx_missing": [kind]})) for kind in kinds}
    assert "credential" not in asked["credential_types"]
    assert "credential" in asked["credentials"] and "project" not in asked["credentials"] | asked["execution_environments"]
    assert "project" in asked["projects"] and "inventory_source" not in asked["projects"] | asked["inventories"]
    assert whole - asked["job_templates"] == {"workflow_job_template_node", "schedule", "role"}


def test_names_are_unique() -> None:
    kinds = (
        "project",
        "inventory_source",
        "job_template",
        "workflow_job_template",
    )  # a workflow finds them by name alone
    names = [options["name"] for kind in kinds for options in named(kind)] + ["Flower approval"]
    assert len(names) == len(set(names))
    for kind in ("credential", "credential_type", "schedule", "team"):
        titles = [options["name"] for options in named(kind)]
        assert len(titles) == len(set(titles))


def test_injectors_are_templates_of_the_controller() -> None:
    injectors = {options["name"]: options["injectors"] for options in named("credential_type")}
    assert injectors["Flower kubeconfig"] == {
        "file": {"template.kubeconfig": "{{ kubeconfig }}"},
        "env": {"K8S_AUTH_KUBECONFIG": "{{ tower.filename.kubeconfig }}"},
    }
    assert injectors["Flower token of hospital-boston"] == {"env": {"FLOWER_TOKEN_HOSPITAL_BOSTON": "{{ token }}"}}
    for options in named("credential_type"):
        fields = {field["id"] for field in options["inputs"]["fields"]}
        used = set(re.findall(r"{{ (\w+) }}", json.dumps(options["injectors"])))
        assert used == fields, options["name"]


def test_credentials_fill_the_fields_of_their_type() -> None:
    fields = {
        options["name"]: {field["id"] for field in options["inputs"]["fields"]} for options in named("credential_type")
    }
    for options in named("credential"):
        assert set(options["inputs"]) <= fields[options["credential_type"]]
    known = {options["name"]: options["credential_type"] for options in named("credential")}
    for options in named("job_template"):
        types = [known[name] for name in options["credentials"]]
        assert len(types) == len(set(types)), "a job gets one credential of a type"
    assert all("credentials" not in options for options in named("job_template", most=False))


def test_every_playbook_has_a_job_template() -> None:
    playbooks = {path.name for path in ROOT.glob("playbooks/*.yml") if path.stem not in PARTS}
    assert sorted(row["playbook"] for row in table("job_templates")) == sorted(playbooks)
    for row in table("job_templates"):
        assert row["name"] == "Flower " + row["playbook"].removesuffix(".yml")
        assert row["description"]


@cache
def read_by(playbook: str) -> frozenset[str]:
    """The flower_* variables that a playbook, what it imports, and its roles read."""
    text = (ROOT / "playbooks" / playbook).read_text(encoding="utf-8")
    found: set[str] = set()
    for part in re.findall(r"import_playbook: (\S+)", text):
        found |= read_by(posixpath.normpath(posixpath.join(posixpath.dirname(playbook), part)))
    roles = set(re.findall(r"federated\.flower\.(\w+)", text))
    if any(name.startswith("supernode") for name in roles) or "clientapp" in roles:
        roles.add("supernode")  # its modules read the variables of the role
    for path in (path for role in roles for path in ROOT.glob(f"roles/{role}/*/*.yml") if path.parent.name != "meta"):
        text += path.read_text(encoding="utf-8")
    return frozenset(found | set(re.findall(r"\bflower_[a-z_]+", text)))


def test_surveys_ask_for_variables_of_their_playbook() -> None:
    for row in table("job_templates"):
        assert row["survey_enabled"] and set(row["survey_spec"]) == {"name", "description", "spec"}
        asked = [question["variable"] for question in row["survey_spec"]["spec"]]
        assert set(asked) <= read_by(row["playbook"]) and set(asked) <= given_variables.known()
        assert len(asked) == len(set(asked))


def test_questions_can_stay_unanswered() -> None:
    """A launch by API has to answer required questions, even those with a default; an empty default would set the variable."""
    optional = {"question_description", "choices", "default"}
    always = {"variable", "question_name", "type", "required"}
    rows = [*table("job_templates"), *table("workflow_job_templates")]
    for question in [question for row in rows for question in row["survey_spec"]["spec"]]:
        assert always <= set(question) <= always | optional
        assert question["type"] in ("text", "textarea", "integer", "multiplechoice")
        assert isinstance(question["required"], bool)
        assert ("choices" in question) == (question["type"] == "multiplechoice")
        assert all(isinstance(choice, str) for choice in question.get("choices", []))
        if "default" in question:
            assert not question["required"]
            assert question["default"] != ""
            assert question["default"] in question.get("choices", [question["default"]])
            assert isinstance(question["default"], int if question["type"] == "integer" else str)


def test_the_workflow_is_one_graph_of_templates_that_exist() -> None:
    launched = {options["name"] for kind in ("job_template", "inventory_source", "project") for options in named(kind)}
    rows = table("workflow_job_template_nodes")
    nodes = {row["identifier"]: row for row in rows}
    assert len(nodes) == len(rows)
    reached, ahead = set(), [rows[0]["identifier"]]
    while ahead:
        one = ahead.pop()
        reached.add(one)
        following = [
            name for kind in ("success_nodes", "failure_nodes", "always_nodes") for name in nodes[one].get(kind, [])
        ]
        places = [list(nodes).index(name) for name in following]
        assert all(place > list(nodes).index(one) for place in places), "a row refers to rows below it only"
        ahead += following
    assert reached == set(nodes)
    assert [row["identifier"] for row in rows if row.get("unified_job_template", "") not in launched] == ["approval"]
    assert set(list(nodes)[: list(nodes).index("approval")]) == {"sync", "preflight", "hub"}
    assert nodes["preflight"]["job_type"] == "check"


@each_row(
    ("first", "limit"),
    [
        ("flower_sites[0]", "flower_hub"),  # a controller has no order of hosts: the next job may find another site at this place
        ("clinic-lyon", "flower_hub:clinic-lyon"),
        ("region_eu:&flower_sites", "flower_hub:region_eu:&flower_sites"),
        ("clinic-lyon,clinic-nice", "flower_hub,clinic-lyon,clinic-nice"),
    ],
)
def test_the_report_after_the_first_sites_shows_none_that_is_not_deployed(first: str, limit: str) -> None:
    rows = templated(load("defaults", "main.yml")["awx_workflow_job_template_nodes"], scope({**MOST, "awx_first_sites": first}))
    assert [row["limit"] for row in rows if row["identifier"] in ("first_sites", "first_status")] == [first, limit]
    assert load("defaults", "main.yml")["awx_first_sites"] == "flower_sites[0]"


def test_nodes_and_schedules_send_what_their_template_asks_for() -> None:
    """The controller ignores what a job template does not ask for on launch."""
    templates = {row["name"]: row for row in table("job_templates")}
    for row in [*table("workflow_job_template_nodes"), *table("schedules")]:
        template = templates.get(row.get("unified_job_template", ""), {})
        for key in ("limit", "job_type", "diff_mode", "job_tags"):
            ask = "ask_tags_on_launch" if key == "job_tags" else f"ask_{key}_on_launch"
            assert key not in row or template[ask], row
        questions = {question["variable"] for question in template.get("survey_spec", {}).get("spec", [])}
        assert set(row.get("extra_data", {})) <= questions
    site = {question["variable"] for question in templates["Flower site"]["survey_spec"]["spec"]}
    for row in table("workflow_job_templates"):
        assert {question["variable"] for question in row["survey_spec"]["spec"]} <= site


def test_required_questions_have_answers_where_nobody_is_asked() -> None:
    templates = {row["name"]: row for row in table("job_templates")}
    for row in [*table("workflow_job_template_nodes"), *table("schedules")]:
        spec = templates.get(row.get("unified_job_template", ""), {}).get("survey_spec", {}).get("spec", [])
        assert [question["variable"] for question in spec if question["required"]] == []


def test_schedules_launch_templates_that_exist() -> None:
    templates = {row["name"] for row in table("job_templates")}
    for row in table("schedules"):
        assert row["unified_job_template"] in templates
        assert re.fullmatch(
            r"DTSTART:\d{8}T\d{6}Z RRULE:FREQ=(HOURLY|DAILY|WEEKLY);INTERVAL=1(;BYDAY=[A-Z]{2})?", row["rrule"]
        )


@pytest.mark.parametrize("follow", [True, False])
def test_sites_are_changed_by_a_schedule_only_if_asked(follow: bool) -> None:
    rows = {row["name"]: row for row in templated(load("defaults", "main.yml")["awx_schedules"], scope({**MOST, "awx_follow_inventory": follow}))}
    assert {row["enabled"] for row in rows.values() if row["unified_job_template"] == "Flower site"} == {follow}
    assert "enabled" not in rows["Flower daily status"]


@pytest.mark.parametrize("folder", ["", "/srv/backups"])
def test_the_hub_is_backed_up_by_a_schedule_where_there_is_a_folder(folder: str) -> None:
    rows = {row["name"]: row for row in templated(load("defaults", "main.yml")["awx_schedules"], scope({**MOST, "awx_backup_directory": folder}))}
    row = rows["Flower nightly backup"]
    assert row["enabled"] == bool(folder) and (not folder or row["extra_data"] == {"flower_backup_directory": folder})


def test_data_scientists_may_launch_studies_only() -> None:
    rows = [row for row in table("roles") if "Flower data scientists" in row["teams"]]
    assert [(row["role"], set(row["job_templates"])) for row in rows] == [("execute", STUDY)]
    assert set(rows[0]) == {"role", "teams", "job_templates"}
    for row in table("job_templates"):
        if row["name"] in STUDY:
            assert row["credentials"] == ["Flower study"]
            asked = {key for key, value in row.items() if key.startswith("ask_") and value}
            assert asked <= {"ask_job_type_on_launch"}, "no variables, hosts or credentials of their own"


def test_auditors_only_read_and_roles_name_objects_that_exist() -> None:
    assert {row["role"] for row in table("roles") if "Flower auditors" in row["teams"]} == {"read"}
    kinds = {
        "job_templates": "job_template",
        "workflows": "workflow_job_template",
        "projects": "project",
        "inventories": "inventory",
    }
    teams = {options["name"] for options in named("team")}
    for row in table("roles"):
        assert set(row["teams"]) <= teams
        for key, kind in kinds.items():
            assert set(row.get(key, [])) <= {options["name"] for options in named(kind)}


@pytest.mark.playbook
def test_without_awx_awx_nothing_is_done(tmp_path: Path) -> None:
    """In an environment that lacks the collections of the package C(ansible)."""
    for path in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if path.name != "ansible_collections":
            (tmp_path / path.name).symlink_to(path)
    run = subprocess.run(
        [sys.executable, "-S", "-m", "ansible", "playbook", str(ROOT / "playbooks" / "awx.yml")],
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT.parents[2]), "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert "The collection awx.awx is not installed on the control node, so nothing was done" in run.stdout + run.stderr


def test_tables_are_documented() -> None:
    options = yaml_file("roles", "awx", "meta", "argument_specs.yml")["argument_specs"]["main"]["options"]
    tables = {name: option["description"] for name, option in options.items() if option.get("elements") == "dict"}
    for name, description in tables.items():
        (module,) = re.findall(r"C\(awx\.awx\.(\w+)\)", str(description))
        assert validator(module), name
