# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.openshift_token): revoke a token of OpenShift, at the latest when the run ends."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ansible import constants

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.actions.run_facts import run_facts
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube import oauth
from ansible_collections.federated.flower.plugins.plugin_utils.lease import token_keeper


class ActionModule(ClusterAction):
    """See the module's documentation."""

    NEEDS_LEASE = False
    ARGS = {"state": {"type": "str", "choices": ["kept", "revoked"], "default": "kept"}}

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Start what revokes the token at the end, or revoke it now. A login does not change the fleet."""
        token = str(self.auth_of().get("api_key") or "")
        if not token:
            raise ClusterError("there is no token: flower_auth has no api_key. Log in first (federated.flower.openshift_login).")
        with self.connect() as cluster:
            if params["state"] == "revoked":
                was = oauth.revoke(cluster, token)
                return _told("the token is revoked" if was else "the token was not valid any more")
            try:
                token_keeper.start(cluster, token, Path(constants.DEFAULT_LOCAL_TMP), run_facts(self.task_vars)["pid"])
            except OSError as error:
                oauth.revoke(cluster, token)
                raise ClusterError(
                    f"no process can be started that revokes the token at the end: {os.strerror(error.errno or 0)}. It is revoked now."
                ) from error
        return _told("the token is revoked when this run ends, however it ends")


def _told(msg: str) -> dict[str, Any]:
    return {"changed": False, "msg": msg}
