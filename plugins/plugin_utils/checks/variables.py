# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Variables with this collection's prefixes that it does not have: a misspelt one would be ignored without a word."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

# Prefixes of the roles' variables and of those that they share.
PREFIXES = ("flower_", "superlink_", "supernode_", "skupper_", "cert_rotation_", "ocm_addon_", "clientapp_")

# Variables of the user's own that have one of the prefixes.
OWN = "flower_own_variables"

# What entry points of roles return.
RESULTS = frozenset((
    "ocm_addon_checked", "ocm_addon_policy", "skupper_link_result", "skupper_link_rotated", "superlink_checked",
    "superlink_described", "superlink_metrics_policy", "superlink_rights",
))  # fmt: skip

# Variables of the role supernode of earlier releases -> the inventory's variable that says the same. They may not contradict it.
FORMER = {
    "supernode_delivery": "flower_delivery",
    "supernode_key_source": "flower_key_source",
    "supernode_connectivity": "flower_connectivity",
}

_OUTPUTS = (
    "a backup and a standby have no outputs of runs. Save outputs with federated.flower.outputs, have apps write them to S3-compatible storage, or back up "
    "the volume claim with VolumeSnapshot, Velero or restic (guide_outputs)"
)
_REPORT = "images are asked when a run is submitted, and pods report no packages any more"
# Variables that earlier releases had -> why there are none any more, and what to do instead.
REMOVED = dict.fromkeys(("flower_backup_outputs", "flower_restore_outputs", "flower_standby_outputs"), _OUTPUTS) | dict.fromkeys(
    ("flower_packages_report", "supernode_packages_report"), _REPORT
) | {"flower_plan_hours": "a plan is compared with the changes that are due, and does not become too old"}

# Variables of playbooks, rulebooks and connections. Those of roles, and those from which roles take defaults, are in the roles' defaults.
SHARED = frozenset((
    "flower_access", "flower_acm_apply", "flower_acm_directory", "flower_acm_hub_labels", "flower_acm_policies", "flower_acm_state", "flower_api_timeout",
    "flower_app", "flower_audit_anchor", "flower_audit_file", "flower_audit_last", "flower_auth", "flower_backup_directory", "flower_backup_identity",
    "flower_backup_keep", "flower_backup_recipients", "flower_bundle_fingerprint", "flower_bundle_reply", "flower_context", "flower_convert_directory",
    "flower_convert_federation", "flower_convert_superlink", "flower_convert_supernode", "flower_delete_volumes", "flower_delivery", "flower_drill",
    "flower_drill_app", "flower_drill_app_config", "flower_drill_app_wait", "flower_drill_confirm", "flower_drill_result", "flower_drill_seconds",
    "flower_drill_site", "flower_drill_targets", "flower_drill_wait", "flower_event_alerts", "flower_event_cafile", "flower_event_certfile",
    "flower_event_gather", "flower_event_host", "flower_event_inventory", "flower_event_keyfile", "flower_event_most", "flower_event_namespaces",
    "flower_event_pause", "flower_event_port", "flower_event_repairs", "flower_event_sites", "flower_event_watch", "flower_failover",
    "flower_failover_abandon_runs", "flower_failover_hub_lost", "flower_failover_result", "flower_forget_clusters", "flower_forget_max", "flower_forget_sites",
    "flower_gpu_products", "flower_gpus", "flower_inputs", "flower_join_deny", "flower_join_verify", "flower_key_source", "flower_kubeconfig",
    "flower_lease_break", "flower_lease_wait", "flower_max_fail_percentage", "flower_node_labels", "flower_ocm_by_labels", "flower_openshift_password",
    "flower_openshift_username", "flower_outputs", "flower_outputs_directory", "flower_outputs_keep", "flower_outputs_min_free", "flower_outputs_older_than",
    "flower_outputs_result", "flower_own_variables", "flower_plan", "flower_plan_hash", "flower_rbac_apply", "flower_rbac_auditors", "flower_rbac_backup",
    "flower_rbac_controller", "flower_rbac_directory", "flower_rbac_scientist_ways", "flower_rbac_scientists", "flower_rbac_state", "flower_rbac_works",
    "flower_reason", "flower_reconcile", "flower_reconcile_after", "flower_reconcile_all", "flower_reconcile_result", "flower_render_directory",
    "flower_restore", "flower_restore_archive", "flower_restore_sha256", "flower_run_config", "flower_run_datasets", "flower_run_id", "flower_run_inputs",
    "flower_run_interval", "flower_run_log_lines", "flower_run_outputs", "flower_run_packages_check", "flower_run_quiet", "flower_run_regions",
    "flower_run_regions_only", "flower_run_regions_wait", "flower_run_result", "flower_run_resume", "flower_run_timeout", "flower_run_wait", "flower_runs",
    "flower_runs_app", "flower_runs_limit", "flower_runs_since", "flower_runs_status", "flower_serial", "flower_site", "flower_site_result",
    "flower_skupper_force", "flower_skupper_network_only", "flower_skupper_rotate", "flower_standby_accept_volumes", "flower_standby_follow",
    "flower_standby_interval", "flower_standby_result", "flower_standby_state", "flower_statement_directory", "flower_statement_file", "flower_status_fail",
    "flower_status_file", "flower_status_format", "flower_status_page", "flower_status_result", "flower_takeover", "flower_takeover_federation",
    "flower_takeover_namespace", "flower_teardown", "flower_upgrade_app", "flower_upgrade_app_config", "flower_upgrade_backup", "flower_upgrade_max_failed",
    "flower_upgrade_pull", "flower_upgrade_pull_timeout", "flower_upgrade_verify", "flower_upgrade_wait", "flower_upgrade_waves", "flower_verify_app",
    "flower_verify_fail", "flower_verify_idle", "flower_verify_result", "flower_verify_round_trip", "flower_verify_upload",
))  # fmt: skip

_ROLES = Path(__file__).resolve().parents[3] / "roles"
_IN_DEFAULTS = re.compile(r"^[a-z][a-z0-9_]*(?=:)|\bflower_[a-z0-9_]+(?= \| default\()", re.MULTILINE)
_OF_ROLE = re.compile(r"\b(?:superlink|supernode)_[a-z0-9_]+")
_TAKEN = re.compile(r"\s*\{\{ (flower_[a-z0-9_]+) \| default\(")


@functools.cache
def known() -> frozenset[str]:
    """All variables of the collection. A unit test compares them with the roles' argument specifications."""
    found = {*SHARED, *RESULTS, *FORMER}
    for path in _ROLES.glob("*/defaults/main.yml"):
        found.update(_IN_DEFAULTS.findall(path.read_text(encoding="utf-8")))
    return frozenset(found)


def faults(host: str, names: Iterable[str], own: Collection[str] = ()) -> list[str]:
    """A sentence for each variable of a host that has one of the prefixes and is not known.

    Args:
        names: names of the host's variables.
        own: those that the user declared with C(flower_own_variables).
    """
    there = known()
    strange = sorted(name for name in names if name.startswith(PREFIXES) and name not in there and name not in own and name not in REMOVED)
    return removed(host, names) + [f"{host}: {name}: this collection has no such variable. {_hint(name, there)}" for name in strange]


def removed(host: str, names: Iterable[str]) -> list[str]:
    """A sentence for each variable of a host that is in C(REMOVED)."""
    return [f"{host}: {name} was removed: {REMOVED[name]}. Remove it from your variables." for name in sorted(REMOVED.keys() & set(names))]


def _hint(name: str, there: Iterable[str]) -> str:
    nearest = difflib.get_close_matches(name, there, n=1, cutoff=0)
    return f"The most similar one is {nearest[0]}. Correct the name; if it is your own variable, add it to {OWN}."


def with_origins(message: str, raw: Mapping[str, Any]) -> str:
    """A message about variables of a role, with the names of those that people gave instead.

    Args:
        message: names variables of roles.
        raw: the host's variables, not templated, with the defaults of the role.
    """
    taken = {name: _TAKEN.match(str(raw.get(name, ""))) for name in sorted(set(_OF_ROLE.findall(message)))}
    words = [f"{name} has the value of {found[1]}." for name, found in taken.items() if found and found[1] in raw]
    return "\n".join([message, *words])
