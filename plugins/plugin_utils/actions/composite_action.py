# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Base of actions that are sequences of other actions of the collection, all in one task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.errors import ClusterError
from .cluster_action import ClusterAction

_COLLECTION = "federated.flower"


class CompositeAction(ClusterAction):
    """An action that runs other actions, as ansible.builtin.template runs ansible.builtin.copy: with the host, the variables and the mode of its task."""

    #: Warnings of the actions that it has run, each once.
    warnings: list[str]

    def run_action(
        self,
        name: str,
        options: Mapping[str, Any] | None = None,
        variables: Mapping[str, Any] | None = None,
        *,
        check: bool = False,
        may_fail: bool = False,
    ) -> dict[str, Any]:
        """Run another action of this collection, and return its result.

        Args:
            variables: variables of this host that differ from those of the task.
            check: whether it runs in check mode, also if the task does not.
            may_fail: whether the result may be that of a failure.

        Raises:
            ClusterError: it failed.
        """
        given = {**self.task_vars, **(variables or {})}
        task = self._task.copy()
        task.action, task.args = f"{_COLLECTION}.{name}", dict(options or {})
        if check:
            task.check_mode = True
        action = self._shared_loader_obj.action_loader.get(
            task.action,
            task=task,
            connection=self._connection,
            play_context=self._play_context,
            loader=self._loader,
            templar=self._templar.copy_with_new_env(available_variables=given),
            shared_loader_obj=self._shared_loader_obj,
        )
        action.is_step = True
        result: dict[str, Any] = action.run(task_vars=given)
        self.warnings += [words for words in result.get("warnings") or [] if words not in self.warnings]
        if result.get("failed") and not may_fail:
            raise ClusterError(str(result["msg"]))
        return result
