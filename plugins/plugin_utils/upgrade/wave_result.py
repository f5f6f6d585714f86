# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a wave of an upgrade ended at its sites. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .flower_versions import Versions, images_by_workload

Facts = Mapping[str, Any]


def other_images(live: Versions, wanted: Versions) -> str:
    """Which images run although others are wanted; empty if all are as wanted."""
    there, then = images_by_workload(live), images_by_workload(wanted)
    wrong = [
        f"{name}/{container} runs {there.get(name, {}).get(container, 'nothing')}, not {image}"
        for name, images in then.items()
        for container, image in images.items()
        if there.get(name, {}).get(container) != image
    ]
    return "; ".join(wrong)


def failures(
    sites: Iterable[str],
    *,
    deployed: Mapping[str, Facts],
    offline: Mapping[str, str],
    images: Mapping[str, str],
    accepted: Mapping[str, Facts],
    run: str,
) -> dict[str, str]:
    """Site -> why it failed, of those that did. The first reason counts.

    Args:
        sites: of the wave, without those that are not asked.
        deployed: site -> C(failed) and C(msg) of its deployment.
        offline: site -> its SuperNodes that are not online.
        images: site -> images that are not those that are wanted; empty if there are none.
        accepted: site -> C(accepted) and C(reasons) of what its SuperNodes measured, of those that did.
        run: why the acceptance run failed, at which every site takes part; empty if it did not.
    """
    found = {}
    for site in sites:
        judged = accepted.get(site, {"accepted": True})
        reasons = (
            str(deployed[site]["msg"]) if deployed[site].get("failed") else "",
            f"{site}: {offline[site]}" if site in offline else "",
            f"{site}: {images[site]}" if images.get(site) else "",
            "" if judged.get("accepted") else f"{site} is not accepted: {'; '.join(judged.get('reasons') or [])}",
            f"{site}: the acceptance run failed: {run}" if run else "",
        )
        if why := next(filter(None, reasons), ""):
            found[site] = why
    return found


def site_result(site: str, why: str, former: str, rollback_error: str | None) -> dict[str, Any]:
    """The result of a site that failed or was rolled back.

    Args:
        site: its name.
        why: why it failed; empty if it was rolled back with its wave.
        former: release that ran there before.
        rollback_error: why it could not be rolled back; empty if it was, None if that was not tried.
    """
    if rollback_error is None:
        return {"changed": False, "failed": True, "msg": why}
    end = f"and could not be rolled back to {former}: {rollback_error}" if rollback_error else f"it runs {former} again"
    first = (why or f"{site}: its wave failed").rstrip(".")
    return {"changed": True, "failed": bool(why or rollback_error), "msg": f"{first}; {end}"}
