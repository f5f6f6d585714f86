# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Facts of the current run of Ansible for the audit trail."""

from __future__ import annotations

import datetime
import os
import pwd
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible import constants, context

from ..kube.api_errors import ApiError
from ..kube.client import Cluster
from ..state import parent

#: Options of ansible-playbook that limit a playbook. Never --extra-vars: they may contain secrets.
_OPTIONS = {"subset": "limit", "tags": "tags", "skip_tags": "skip_tags"}
#: Variables in which AWX has the user who launched a job (older releases use C(tower)).
_LAUNCHED_BY = ("awx_user_name", "tower_user_name")
_JOB = ("awx_job_id", "tower_job_id")


def now() -> str:
    """The time, ISO 8601, UTC, to the microsecond."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat()


def run_facts(variables: Mapping[str, Any]) -> dict[str, Any]:
    """What is the same in all tasks of a run: C(pid), C(playbook), C(options), C(who).

    Args:
        variables: the task's variables.
    """
    given = context.CLIARGS.get("args") or ()
    playbooks = [given] if isinstance(given, str) else list(given)
    options = {}
    for option, name in _OPTIONS.items():
        value = context.CLIARGS.get(option) or ""
        text = value if isinstance(value, str) else ",".join(map(str, value))
        if text not in ("", "all"):
            options[name] = text
    try:
        user = pwd.getpwuid(os.getuid()).pw_name  # LOGNAME can be set by any user
    except KeyError:  # a container with an arbitrary user id
        user = f"uid {os.getuid()}"
    who = {"user": user, "host": socket.gethostname()}
    for key, names in (("awx_user", _LAUNCHED_BY), ("awx_job", _JOB)):
        if found := next((str(variables[name]) for name in names if variables.get(name)), ""):
            who[key] = found
    return {
        "pid": parent.playbook(Path(constants.DEFAULT_LOCAL_TMP)),
        "playbook": " ".join(os.path.basename(str(playbook)) for playbook in playbooks),
        "options": options,
        "who": who,
    }


def kubernetes_user(cluster: Cluster) -> str:
    """Our user name at the API server, or the reason why it is not known.

    The rule is Kubernetes' SelfSubjectReview (authentication.k8s.io/v1, since 1.28); every authenticated user may use it.
    """
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    try:
        answer = cluster.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=review)
    except ApiError as error:
        return f"not known: the API server answered the SelfSubjectReview with {error.status}"
    return answer["status"]["userInfo"].get("username", "not known: the user has no name")
