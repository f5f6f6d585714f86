# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.run_schedule): trainings on a calendar, as CronJobs on the hub."""

from __future__ import annotations

import base64
import contextlib
import datetime
import itertools
from collections.abc import Mapping
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.actions.given_spec import given_spec
from ansible_collections.federated.flower.plugins.plugin_utils.actions.role_options import site_hosts
from ansible_collections.federated.flower.plugins.plugin_utils.apply.engine import apply_objects
from ansible_collections.federated.flower.plugins.plugin_utils.base import cron, foreign_data
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.labels import own_pods
from ansible_collections.federated.flower.plugins.plugin_utils.base.maintenance import VARIABLE, in_maintenance
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import (
    FEDERATION_CONFIG,
    SCHEDULE,
    SCHEDULES_SET,
    SUPERLINK,
)
from ansible_collections.federated.flower.plugins.plugin_utils.flower import app as apps
from ansible_collections.federated.flower.plugins.plugin_utils.flower import in_pod, run_config, schedules
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import CONNECTION, CONTAINER
from ansible_collections.federated.flower.plugins.plugin_utils.kube import cluster_platform
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import schedule
from ansible_collections.federated.flower.plugins.plugin_utils.marks import owners
from ansible_collections.federated.flower.plugins.plugin_utils.rights import ask, grants
from ansible_collections.federated.flower.plugins.plugin_utils.rights.need import SCHEDULE as WORK
from ansible_collections.federated.flower.plugins.plugin_utils.spec.hub_spec import HubSpec

_LIMIT = 900 * 1024  # bytes of an app, compressed: a ConfigMap has 1 MiB, with the programs
_OWN = ("cron", *schedules.DEFAULTS)  # options that are settings as they are
_APP = ("app", "version", "run_config")  # settings that follow from the app
_YEAR, _TIMES = datetime.timedelta(days=366), 2000  # for which times are compared with maintenance windows
_NO_SETTINGS = {**schedules.DEFAULTS, "cron": "", **dict.fromkeys(_APP, "")}


class ActionModule(ClusterAction):
    """See the module's documentation."""

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Create, change or remove a schedule; list all."""
        name, result = params["name"], {"changed": False, "msg": ""}
        if name and (why := schedules.problem_of_name(name)):
            raise ClusterError(f"{why}.")
        given = {option: params[option] for option in _OWN if params[option] is not None}
        given, archive, app = self._with_app(given, params)
        if problems := schedules.problems({**_NO_SETTINGS, "cron": "0 0 * * *", **given}):  # before any connection
            raise ClusterError("; ".join(problems) + ".")
        if name:
            result = self._set(name, given, archive, app)
        with self.connect() as hub:
            listed = schedules.read(hub, params["namespace"], params["federation"])
        lines = [schedules.describe(one) for one in listed] or ["there are no schedules"]
        return {**result, "schedules": listed, "lines": lines, "msg": result["msg"] or f"{len(listed)} schedules"}

    @staticmethod
    def _with_app(given: dict[str, Any], params: Mapping[str, Any]) -> tuple[dict[str, Any], bytes, apps.App | None]:
        """The settings with those of an app, if one is given; its archive; and the app."""
        if not params["app"] or params["state"] == "absent":
            if params["run_config"] and params["state"] == "present" and params["name"]:
                raise ClusterError("flower_run_config needs the app as well (flower_app), whose run config it changes.")
            return given, b"", None
        app = apps.load(params["app"])
        archive = app.archive()
        if len(archive) > _LIMIT:
            raise ClusterError(
                f"flower_app: {params['app']} has {len(archive) >> 10} KiB, compressed, and a schedule accepts at most {_LIMIT >> 10}: exclude the files that "
                f"the app does not need at the hub ({apps.GITIGNORE}, or fab-exclude in [tool.flwr.app]), or use a schedule of AWX, which runs "
                "federated.flower.run."
            )
        config = run_config.check(params["run_config"] or {}, app.defaults, app.name)
        changed = {} if params["run_config"] is None else {"run_config": run_config.write(config)}
        return {**given, "app": app.name, "version": app.version, **changed}, archive, app

    def _set(self, name: str, given: dict[str, Any], archive: bytes, app: apps.App | None) -> dict[str, Any]:
        """Bring one schedule to its state."""
        present = self.params["state"] == "present"
        spec = given_spec(self, None)
        with self.connect() as hub:
            spec = given_spec(self, None, cluster_platform.known(hub, spec.platform))
            try:
                ask.require(hub, grants.controller_rights(SUPERLINK, spec, works=[WORK]))
            except ask.MissingRights as error:
                raise ClusterError(f"{error.message} For schedules, add schedule to flower_rbac_works.") from error
            settings: dict[str, Any] = {**_NO_SETTINGS, **given}
            if present:
                settings, archive = self._complete(hub, spec, name, given, archive, app)
                if not self.params["ignore_maintenance"] and not settings["suspend"]:
                    self._refuse_maintenance(settings)
            paths = {"connection": CONNECTION, "container": CONTAINER}
            objects = schedule.objects(spec, name, {**settings, **paths}, archive, ["python", "-c", in_pod.LOADER])
            if present:
                record: dict[str, Any] = {"applyset": SCHEDULES_SET, "applyset_namespace": spec.namespace, "prune": False}
                record["owner"] = owners.deployment_notes(federation=spec.federation)
                done = apply_objects(hub, objects, check=self.check, show_diff=self.show_diff, own_only=True, **record)
            else:
                done = apply_objects(hub, objects, state="absent", check=self.check, show_diff=self.show_diff, own_only=True)
        verb = ("would be" if self.check else "was") if done.changed else "is"
        words = f"schedule {name} {verb} {('set' if present else 'removed') if done.changed else ('as wanted' if present else 'absent')}"
        note = "; a run that it started continues (federated.flower.runs)" if done.changed and not present else ""
        return {**done.as_dict(), "msg": words + note}

    def _refuse_maintenance(self, settings: Mapping[str, Any]) -> None:
        """Refuse times at which a site is in maintenance.

        Raises:
            ClusterError: the first of them, or what is wrong with a window.
        """
        hosts = {site: {VARIABLE: self._variable_of(self.variables_of(site), VARIABLE)} for site in site_hosts(self)}
        hosts = {site: given for site, given in hosts.items() if given[VARIABLE]}
        now = datetime.datetime.now(datetime.timezone.utc)
        coming = cron.times(cron.parse(settings["cron"]), cron.zone(settings["timezone"]), now)
        try:
            for time in itertools.takewhile(lambda one: one < now + _YEAR, itertools.islice(coming, _TIMES)) if hosts else ():
                for site, until in in_maintenance(hosts, hosts, time).items():
                    raise ClusterError(
                        f"flower_schedule_cron: {settings['cron']!r} would start a run at {time:%Y-%m-%d %H:%M}, and {site} is in maintenance until {until} "
                        f"({VARIABLE}). Choose other times. With -e flower_maintenance_ignore=true, runs start then with the SuperNodes that are online, "
                        "if these are as many as flower_schedule_min_supernodes."
                    )
        except ValueError as error:
            raise ClusterError(f"{error}.") from error

    @staticmethod
    def _complete(
        hub: Cluster, spec: HubSpec, name: str, given: Mapping[str, Any], archive: bytes, app: apps.App | None
    ) -> tuple[dict[str, Any], bytes]:
        """The settings with those that the schedule has already, and its app if none is given.

        Raises:
            ClusterError: something is missing, its run config is not of the app that is given, or there is no SuperLink.
        """
        if hub.get("v1", "ConfigMap", FEDERATION_CONFIG, spec.namespace) is None:
            raise ClusterError(f"no SuperLink is deployed in namespace {spec.namespace} of {hub.name}: run federated.flower.site first.")
        live = hub.get("v1", "ConfigMap", f"{SCHEDULE}-{name}", spec.namespace) or {}
        known: dict[str, Any] = {}
        if own_pods(spec.federation, SCHEDULE).items() <= ((live.get("metadata") or {}).get("labels") or {}).items():
            with contextlib.suppress(*foreign_data.FAULTS):  # someone has changed it: what is missing then is asked for
                kept = base64.b64decode(live["binaryData"][schedule.ARCHIVE])
                found = foreign_data.read_json(live["data"][schedule.SETTINGS])
                known = {option: found[option] for option in (*_OWN, *_APP) if isinstance(found[option], type(_NO_SETTINGS[option]))}
                archive = archive or kept
                if app is not None and "run_config" not in given:  # it stays, if the app that is given has it as well
                    known["run_config"] = run_config.write(run_config.check(run_config.read(known["run_config"]), app.defaults, app.name))
        settings = {**schedules.DEFAULTS, "run_config": "", **known, **given}
        wanted = {"cron": "flower_schedule_cron (a calendar, such as '0 2 * * sun')", "app": "flower_app (a folder)"}
        if lacking := [words for option, words in wanted.items() if not settings.get(option)]:
            raise ClusterError(f"flower_schedule: {name} is new, and needs {' and '.join(lacking)}.")
        if problems := schedules.problems(settings):
            raise ClusterError("; ".join(problems) + ".")
        return settings, archive
