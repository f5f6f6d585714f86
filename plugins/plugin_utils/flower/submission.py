# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Submit an app, once; and what is checked before."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..base.errors import ClusterError
from ..kube.api_errors import ApiError, ExecBroken, Forbidden, Unauthorized
from ..state import site_indexes
from ..state.ledger import DATASETS, Ledger
from . import run_config
from .app import App
from .cli import CONNECTION, FlowerCLI, FlowerError
from .runs import command_line, reason


class UnknownSubmission(FlowerError):
    """An app was submitted, and whether there is a run of it is not known."""


def check_datasets(cli: FlowerCLI, wanted: Sequence[str], say: Callable[[str], None]) -> dict[str, list[str]]:
    """Check that every SuperNode that is online has some datasets. Without any, nothing is asked.

    Returns:
        Dataset -> sites that have it.

    Raises:
        FlowerError: some lack one, by site and pool; no SuperNode is online; or it cannot be known.
    """
    if not wanted:
        return {}
    hub, namespace = cli.cluster, cli.namespace
    try:
        index = Ledger(hub, namespace, "", check=True).read(DATASETS)
    except Forbidden as error:
        raise FlowerError(
            f"cannot determine which sites have the datasets {', '.join(wanted)}: {error.message} The playbook federated.flower.rbac gives data "
            f"scientists the right to read ConfigMap {namespace}/{DATASETS}"
        ) from error
    online = [node for node, facts in cli.nodes().items() if facts.get("status") == "online"]
    if not online:
        raise FlowerError(
            f"no SuperNode is online at {hub.name}, so no site can provide the datasets {', '.join(wanted)}; federated.flower.status shows the cause"
        )
    missing = site_indexes.missing_datasets(index, wanted, online)
    if missing:
        # A reply is bound to the version that it answers.
        doubts = [f"{one}: import its reply to that version (federated.flower.join)" for one in site_indexes.uncertain_datasets(index, wanted, online)]
        raise FlowerError(
            f"nothing was submitted, because SuperNodes that are online lack datasets: {'; '.join([*missing, *doubts])}. Give them the dataset "
            "(supernode_datasets) and run federated.flower.site, or remove it from flower_run_datasets"
        )
    found = site_indexes.sites_by_dataset(index, wanted)
    for name in dict.fromkeys(wanted):
        say(f"dataset {name}: {', '.join(found[name])}")
    return {name: found[name] for name in wanted}


def submit(cli: FlowerCLI, app: App, config: Mapping[str, run_config.Value]) -> dict[str, Any]:
    """Submit an app; return what Flower answered (C(run-id), C(fab-hash), …).

    When the connection breaks before the answer is there, the same request is sent again with the same token: the program
    in the pod then only repeats its answer (see C(pod_program.run_once)). So there is never a second run.

    Raises:
        FlowerError: Flower refused it, so there is no run.
        UnknownSubmission: it is unknown whether it was accepted.
    """
    files = {"run-config.toml": run_config.write(config)} if config else {}
    options = ["--run-config", "@FOLDER@/run-config.toml"] if config else []
    step = {"command": ["run", "@FOLDER@/app", CONNECTION, *options, "--format", "json"], "once": uuid.uuid4().hex}
    archive = app.archive()
    pod = cli.wait_for_superlink(60)
    lost: ClusterError | None = None
    for pause in (0, 1, 3, 10, 30):
        time.sleep(pause)
        try:
            if lost and cli.wait_for_superlink(60)["metadata"]["uid"] != pod["metadata"]["uid"]:
                break  # the record of the first attempt is lost with its pod
            (answer,) = cli.do([step], files=files, archive=archive, seconds=180)
        except ClusterError as error:
            if lost is None and isinstance(error, (ApiError, Unauthorized)) and not isinstance(error, ExecBroken):
                raise  # the API server refused it: nothing was started
            if isinstance(lost, FlowerError):
                break  # the program in the pod fails, with any connection
            lost = error
            continue
        if answer.ok and answer.data.get("run-id"):
            return answer.data
        if lost is None or answer.data:
            raise FlowerError(
                f"the SuperLink on {cli.cluster.name} does not accept the app {app.name}: {reason(answer)}"
            )
        break
    raise UnknownSubmission(
        f"the app {app.name} was being submitted when the connection was lost, and it is unknown whether a run started. Check before you "
        f"submit again: {command_line(cli, 'list')} (what happened: {lost.message if lost else 'no answer'})"
    )
