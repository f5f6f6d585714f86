# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.run): submit an app to the SuperLink and follow the run to its end."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction, first_line
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.checks import inventory
from ansible_collections.federated.flower.plugins.plugin_utils.flower import app as apps
from ansible_collections.federated.flower.plugins.plugin_utils.flower import (
    bucket,
    bucket_upload,
    outputs_fetch,
    outputs_reader,
    packages,
    run_config,
    run_inputs,
    run_log,
    run_regions,
    run_sites,
    run_table,
    runs,
    submission,
)
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI, FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.flower.following import Following
from ansible_collections.federated.flower.plugins.plugin_utils.flower.progress import Progress
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import connect
from ansible_collections.federated.flower.plugins.plugin_utils.programs.run_metrics import last_metrics
from ansible_collections.federated.flower.plugins.plugin_utils.sites.registry import DELIVERIES

_SHOWN = 15  # lines of the log in the message of a run that failed
_SITE_TIMEOUT = 10.0  # seconds for one answer of a site's API server: a site that is down does not delay the run for long
_STOPPING = 120.0  # seconds for which it is tried to stop a run that left its regions


class ActionModule(ClusterAction):
    """See the module's documentation."""

    MUST_RECORD = False  # data scientists may not write the audit trail
    NOTES_MESSAGE = False  # Flower lists the runs
    SPEC = {
        "required_one_of": [("app", "run_id")],
        "mutually_exclusive": [("app", "run_id"), ("run_config", "run_id"), ("resume", "run_id"), ("inputs", "run_id")],
    }

    #: Where the run stays; None for anywhere.
    _border: run_regions.Border | None = None

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Submit, follow, and say whether all of it succeeded, also where a playbook reports a failure by itself (C(failed_when))."""
        result = self._submit_or_follow(params)
        return {**result, "succeeded": not result.get("failed", False)}

    def _submit_or_follow(self, params: dict[str, Any]) -> dict[str, Any]:
        """Check the app before anything is sent; after that the run's number is part of every message."""
        if params["interval"] < 1:
            raise FlowerError(f"interval must be a number of seconds, at least 1, not {params['interval']}")
        if params["regions"] and not params["wait"]:
            raise FlowerError("regions (flower_run_regions) are enforced only while the task waits for the run: set wait (flower_run_wait) to true.")
        if params["run_id"]:
            runs.ids([params["run_id"]], "run_id")
            with self.connect() as hub:
                cli = FlowerCLI(hub, params["namespace"])
                self._read_regions(cli, f"run {params['run_id']} is no longer followed, so its regions are no longer enforced")
                return self._follow(cli, params["run_id"], {"changed": False})
        app = apps.load(params["app"])
        config = run_config.check(params["run_config"] or {}, app.defaults, app.name)
        declared = packages.declared(app) if params["packages_check"] else []
        inputs = run_inputs.read(app, config, params["resume"] or "", params["inputs"] or "", self.say)
        config |= inputs.run_config
        about = {"name": app.name, "version": app.version, "files": len(app.files), "size": app.size}
        result: dict[str, Any] = {"changed": True, "app": about, "run_config": config, "warnings": app.warnings}
        if self.check:
            words = [f"would submit {app.name} {app.version}"]
            if inputs.run_config:
                with self.connect() as hub:
                    words += self._provide(FlowerCLI(hub, params["namespace"]), inputs, result)
            return result | {"msg": "; ".join(words)}
        with self.connect() as hub:
            cli = FlowerCLI(hub, params["namespace"])
            self._read_regions(cli, "nothing was submitted")
            # Those that are denied have to be offline before others are asked for datasets and packages.
            self._wait_for_others(cli)
            result["datasets"] = submission.check_datasets(cli, params["datasets"] or [], self.say)
            result["packages"] = packages.require(cli, app, declared, self._site_pods, self.say)
            room, unknown = outputs_reader.known_room(cli, params["outputs_min_free"] or "")
            result |= {"room": room.facts()} if room else {}
            result["warnings"] = [*app.warnings, *([unknown] if unknown else [])]
            self._provide(cli, inputs, result)
            config |= inputs.run_config  # the name of inputs from object storage is known only now
            result |= self._wait_for_others(cli)  # at the last moment
            try:
                answer = submission.submit(cli, app, config)
            except submission.UnknownSubmission as error:
                return result | {"failed": True, "submission": "unknown", "msg": self.named(error)}
            about["fab_hash"] = str(answer.get("fab-hash", ""))
            run_id = str(answer["run-id"])
            if inputs.origin:
                self.note(outputs=[{"change": "began", "run": run_id, **inputs.origin}])
                try:
                    outputs_reader.Reader(cli).begin(run_id, inputs.origin)
                except ClusterError as error:
                    _warn(result, f"the manifest of the outputs of run {run_id} will not list its inputs: {error.message}")
            return self._follow(cli, run_id, result)

    def _read_regions(self, cli: FlowerCLI, otherwise: str) -> None:
        """Read where the SuperNodes are, if the run stays in some regions.

        Raises:
            FlowerError: it cannot be known, or there are no such regions; it begins with C(otherwise).
        """
        if self.params["regions"]:
            try:
                regions = run_regions.read(cli, self.params["regions"])
            except ClusterError as error:
                raise FlowerError(f"{otherwise}: {error.message}") from error
            self._border = run_regions.Border(regions, lambda: run_regions.known(cli, regions.wanted))

    def _wait_for_others(self, cli: FlowerCLI) -> dict[str, Any]:
        """Wait until nothing outside of the regions is online; returns the regions for the result."""
        if self._border is None:
            return {}
        self._border.renew()
        return run_regions.require(cli, self._border, self.params["regions_wait"], self.say)

    def _site_pods(self, site: str) -> packages.SitePods:
        """How the pods of a site are asked.

        Raises:
            ClusterError: they cannot be queried, or the variables of the site are wrong.
        """
        if site not in self.task_vars["hostvars"]:
            raise ClusterError("it is not in the inventory")
        variables = self.variables_of(site)
        try:
            entry = DELIVERIES[self.access_of(site).delivery]
        except AnsibleError as error:
            raise ClusterError(f"its variables cannot be evaluated: {first_line(error)}") from error
        if not entry.own_access:
            raise ClusterError(f"its pods cannot be queried, because its objects are delivered through {entry.why}")
        given = [self._variable_of(variables, name) for name in ("supernode_namespace", "flower_namespace")]
        namespace = str(next(filter(None, given), inventory.DEFAULT))
        # Not with C(self.connect), after which notes for the audit trail would be about the site.
        access = partial(connect, self.auth_of(site), timeout=self.api_timeout(site) or _SITE_TIMEOUT)
        return packages.SitePods(access, namespace, self.of_hub("federation"))

    def _provide(self, cli: FlowerCLI, inputs: run_inputs.RunInputs, result: dict[str, Any]) -> list[str]:
        """Provide what the run begins with, last before it is submitted; in check mode only look. Returns it in words."""
        found, facts, words = run_inputs.provide(cli, inputs, self.params["outputs_min_free"] or "", self.say, check=self.check)
        result |= found
        if facts:
            self.note(outputs=facts)
        return words

    def _follow(self, cli: FlowerCLI, run_id: str, result: dict[str, Any]) -> dict[str, Any]:
        """What becomes of a run. In check mode it is looked at once: it is neither waited for nor stopped, and nothing is fetched."""
        params = self.params
        result["run_id"] = run_id
        trouble = ""
        waits = params["wait"] and not self.check
        unwatched = (
            " Until then its regions are not enforced: wait for it with the same regions (flower_run_regions) and a longer wait_timeout "
            "(flower_run_timeout)"
        )
        unwatched = unwatched if self._border else ""
        try:
            if waits:
                run, trouble, log = self._wait(cli, run_id, submitted=result["changed"])
            elif result["changed"]:
                later = "; to fetch its outputs, wait for it with run_id (flower_run_id)" if params["outputs_directory"] else ""
                return result | {"status": "pending", "msg": f"run {run_id} was submitted{later}"}
            else:
                run, log = runs.read_run(cli, run_id), []
                try:
                    log = run_log.read_log(cli, run)
                except ClusterError as error:
                    _warn(result, f"cannot read the log of run {run_id}: {error.message}")
        except run_regions.LeftRegion as error:
            return result | self._end(cli, run_id, error.message)
        except runs.UnknownRun as error:
            return self._failed(result, f"run {run_id}: {error.message}")
        except ClusterError as error:
            return self._failed(result, f"run {run_id}: {error.message.rstrip('.')}. It may still be running. {runs.remedy_for(cli, run_id)}{unwatched}")
        kept = max(params["log_lines"], 0)
        output = run_log.highlights(log)
        result |= {
            "status": run.status,
            "outcome": run.outcome,
            "elapsed": run.elapsed,
            "metrics": last_metrics(log),
            "log": log[-kept:] if kept else [],
            "output": output[-kept:] if kept else [],
        }
        # Strategies go on without SuperNodes that answer with errors, so a run completes although a site had no part in it.
        count, reasons = run_log.failed_replies(log)
        failures = run_log.describe_failed_replies(count, reasons, run_sites.homes(cli) if reasons else {}) if count else ""
        result["node_errors"] = failures
        if waits and self._border and self._border.unseen:
            unseen = f"for {self._border.unseen:.0f} s of run {run_id} the online SuperNodes were unknown"
            _warn(result, f"{unseen}; SuperNodes that were online for a part of this time and restarted since cannot be detected")
        if run.finished and (fault := self._left_regions(cli, run_id)):
            return self._failed(result, f"run {run_id} of {run.app} has ended ({run.status}), but {fault}. Its outputs stay on the hub and are not fetched")
        if run.status == runs.COMPLETED:
            self._fetch_outputs(cli, run_id, result)
            self._upload_outputs(cli, run_id, result)
            words = f"run {run_id} of {run.app} completed in {run.elapsed:.1f} s"
            if failures:
                _warn(result, f"run {run_id}: {failures}")
            if lost := result["outputs"].get("error", ""):
                return self._failed(result, f"{words}, but its outputs were not fetched: {lost}")
            words = "; ".join(filter(None, (words, result["outputs"].pop("words", ""), result["outputs"].pop("bucket_words", ""))))
            return result | {"msg": words}
        if run.finished:
            words = runs.describe_end(run)
        elif waits:
            words = runs.describe_timeout(cli, run, params["wait_timeout"], trouble, run_log.waiting(log)) + unwatched
        else:
            return result | {"msg": f"run {run_id} of {run.app} is {run.status}"}
        if failures:
            words += f"\n{failures}"
        if output:
            words += "\nThe end of its log:\n" + "\n".join(f"  {line}" for line in output[-_SHOWN:])
        return self._failed(result, words)

    def _failed(self, result: dict[str, Any], words: str) -> dict[str, Any]:
        return result | {"failed": True, "msg": self.named(FlowerError(words))}

    def _wait(self, cli: FlowerCLI, run_id: str, *, submitted: bool) -> tuple[runs.Run, str, list[str]]:
        """Follow a run; its last state, why it could not be read (or an empty text), and the end of its log."""
        params = self.params
        quiet = params["quiet"] or bool(self._task.no_log)  # Ansible hides the result, not what is said meanwhile
        progress = Progress(self.say, self.inventory_host, run_id, interval=params["interval"], quiet=quiet)
        progress.begin(submitted)
        watch = self._border.watched(progress) if self._border else progress
        following = Following(cli, run_id, watch)
        with progress.steady():
            run = following.follow(params["wait_timeout"])
        return run, following.trouble, run_log.trim(list(following.lines))

    def _end(self, cli: FlowerCLI, run_id: str, why: str) -> dict[str, Any]:
        """Stop a run that left its regions; returns what was done, for the result."""
        status, trouble = runs.stop_at_last(cli, run_id, _STOPPING)
        if trouble:
            words = f"run {run_id} could not be stopped ({trouble}). Stop it: {runs.command_line(cli, 'stop', run_id)}. It has to end"
        elif status == runs.STOPPED:
            words = f"run {run_id} was stopped"
        else:
            words = f"run {run_id} had already ended ({status}), and its outputs are not fetched"
        state = {"status": status, "outcome": status.partition(":")[2]} if status else {}
        return self._failed(state, f"{words}, because {why}")

    def _left_regions(self, cli: FlowerCLI, run_id: str) -> str:
        """What was online during a run outside of its regions, in words."""
        if self._border is None:
            return ""
        try:
            return run_regions.fault_afterwards(cli, self._border, run_table.known_runs(cli, [run_id]).get(run_id, {}))
        except ClusterError as error:
            return f"cannot read which SuperNodes were online during the run: {error.message}"

    def _fetch_outputs(self, cli: FlowerCLI, run_id: str, result: dict[str, Any]) -> None:
        """Say where the outputs of a completed run are, and fetch them if that is requested. The run stays completed if that fails."""
        directory = self.params["outputs_directory"]
        result["outputs"] = {}
        reader = outputs_reader.Reader(cli)
        try:
            result["outputs"] = {"place": reader.folder(run_id)}
            if not directory:
                return
            run = run_table.known_runs(cli, [run_id]).get(run_id, {})
            found = outputs_fetch.fetch_outputs(cli, reader, run_id, run, Path(directory).absolute(), self.say, check=self.check)
            if found.fact:
                self.note(outputs=[found.fact])
            result["outputs"] |= {**found.result, "words": found.words}
            _warn(result, *found.warnings)
            result["changed"] |= found.changed
        except outputs_reader.NoFiles as error:
            _warn(result, error.message)
        except ClusterError as error:
            if directory:
                result["outputs"]["error"] = error.message

    def _upload_outputs(self, cli: FlowerCLI, run_id: str, result: dict[str, Any]) -> None:
        """Upload the outputs of a completed run, if the federation has a bucket. They stay on the hub, so a failure is a warning."""
        if "place" not in result["outputs"]:
            return
        reader = outputs_reader.Reader(cli)
        try:
            if (storage := bucket.Bucket.find(reader)) is None:
                return
            run = run_table.known_runs(cli, [run_id]).get(run_id, {})
            found = bucket_upload.upload(cli, storage, run_id, run, self.say, check=self.check)
            if found.fact:
                self.note(outputs=[found.fact])
            result["outputs"] |= {"bucket": storage.of_run(run_id), "bucket_words": found.words}
            _warn(result, *found.warnings)
            result["changed"] |= found.changed
        except outputs_reader.NoFiles:
            return  # the fetch says so, and a run may have none
        except ClusterError as error:
            again = f"They stay on the hub; upload them: federated.flower.outputs -e flower_outputs=upload -e flower_run_id={run_id}"
            _warn(result, f"the outputs of run {run_id} were not uploaded: {error.message.rstrip('.')}. {again}")


def _warn(result: dict[str, Any], *warnings: str) -> None:
    result["warnings"] = [*result.get("warnings", []), *warnings]
