# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What may be written while a plan is applied. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..apply.content import content_digest
from ..apply.watching import Step
from . import planned_object


class Allowed:
    """What may be written while a plan is applied.

    Args:
        content: the plan.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._entries = {(one["cluster"], one["object"]): one for one in planned_object.objects(content)}

    def entry(self, step: Step) -> Mapping[str, Any] | None:
        """The entry of an object."""
        for name in (str(step.which), planned_object.folded_name(step)):
            found = self._entries.get((step.host, name))
            if found is not None and (found["object"] == str(step.which) or found["later"]):
                return found
        return None

    def fault(self, step: Step, done: Collection[tuple[str, str]]) -> str:
        """Why an object must not be written; empty if it may.

        Args:
            step: what is about to be done.
            done: what this run has written so far: C(cluster) and C(object) of what C(written) returned.
        """
        if step.passing:
            return ""
        planned = self.entry(step)
        if planned is None:
            return "it is not in the plan, so it is not written. Make a new plan with federated.flower.plan"
        wrong = self._fault(planned, step, again=(step.host, str(planned["object"])) in done)
        return f"{wrong}, so it is not written. Make a new plan with federated.flower.plan" if wrong else ""

    @staticmethod
    def _fault(planned: Mapping[str, Any], step: Step, *, again: bool) -> str:
        if not again:
            if planned["change"] != step.change:
                return f"it was planned to be {planned['change']}, and would be {step.change}"
            if planned["uid"] != str((step.live or {}).get("metadata", {}).get("uid", "")):
                return "it was deleted and created again since the plan"
            if planned["was"] != planned_object.state(step.live):
                return "it was changed since the plan"
        if step.desired is not None and not planned["later"] and planned["becomes"] != planned_object.becomes(step.desired):
            return "" if again else "the inventory wants something else than the plan"
        return ""

    def written(self, step: Step) -> dict[str, Any] | None:
        """What is noted of an object that was written; None for what only helped and is not in the plan."""
        planned = self.entry(step)
        if planned is None:
            return None if step.passing else {"cluster": step.host, "object": str(step.which), "change": step.change, "sha256": ""}
        sha256 = planned["sha256"]
        if not (planned["later"] or step.passing or step.desired is None):
            sha256 = content_digest(step.desired)
        return {"cluster": step.host, "object": planned["object"], "change": step.change, "sha256": sha256}
