# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What becomes of a wave: which sites failed, which go back to what they ran before, and whether the upgrade stops. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .what_runs import What, by_name, differs

Facts = Mapping[str, Any]


def other_images(seen: What, want: What) -> str:
    """Which images run although others are wanted; empty where it is as wanted."""
    there, then = by_name(seen), by_name(want)
    wrong = [
        f"{name}/{container} runs {there.get(name, {}).get(container, 'nothing')}, not {image}"
        for name, images in then.items()
        for container, image in images.items()
        if there.get(name, {}).get(container) != image
    ]
    return "; ".join(wrong)


def number_of(names: Sequence[str], waves: Sequence[Sequence[str]]) -> int:
    """The number of a wave, from 1, by some of its sites."""
    return next(number for number, wave in enumerate(waves, 1) if set(names) <= set(wave))


def without(
    wave: Sequence[str], lost: Mapping[str, str], before: Sequence[str], waves: Sequence[Sequence[str]], allowed: int
) -> dict[str, Any]:
    """A wave without the sites whose nodes do not get the new images. If more fail than may, it does not begin.

    Args:
        wave: its sites.
        lost: site -> why.
        before: sites that failed in earlier waves.
        waves: all of them.
        allowed: how many may fail in all.

    Returns:
        C(sites): those to upgrade; C(failed_sites), C(stop) and C(msg).
    """
    failed = list(dict.fromkeys([*before, *lost]))
    if len(failed) <= allowed or not lost:
        return {"sites": [name for name in wave if name not in lost], "failed_sites": failed, "stop": False, "msg": ""}
    number = number_of(wave, waves)
    untouched = ", ".join(name for one in waves[number - 1 :] for name in one)
    words = " ".join(f"{why.rstrip('.')}." for why in lost.values())
    msg = (
        f"wave {number} of {len(waves)} does not begin: {words} Not touched: {untouched}. Run federated.flower.upgrade again then: it continues with "
        f"this wave. flower_upgrade_max_failed ({allowed}) is the number of sites that may fail."
    )
    return {"sites": [], "failed_sites": failed, "stop": True, "msg": msg}


def of_wave(
    names: Sequence[str],
    *,
    results: Mapping[str, Facts],
    offline: Mapping[str, str],
    other: Mapping[str, str],
    run: Facts,
    accepted: Mapping[str, Facts],
    was: Mapping[str, What],
    want: Mapping[str, What],
    before: Sequence[str],
    allowed: int,
) -> dict[str, Any]:
    """Judge a wave.

    Args:
        names: its sites.
        results: site -> C(failed) and C(msg) of its deployment.
        offline: site -> its SuperNodes that are not online.
        other: site -> images that are not those that are wanted.
        accepted: site -> C(accepted) and C(reasons) of what its SuperNodes measured; empty where that was not asked for.
        run: of the acceptance run, C(status) and C(msg); empty for none.
        was: site -> what it ran before the upgrade.
        want: site -> what it is to run.
        before: sites that failed in earlier waves.
        allowed: how many may fail in all.

    Returns:
        C(why): site -> why it failed; C(back): site -> what it is to run again; C(stop).
    """
    why = {name: str(results[name]["msg"]) for name in names if results[name].get("failed")}
    for name, words in [*offline.items(), *other.items()]:
        why.setdefault(name, f"{name}: {words}")
    for name in names:
        if name in accepted and not accepted[name].get("accepted"):
            why.setdefault(name, f"{name} is not accepted: {'; '.join(accepted[name].get('reasons') or [])}")
    refused = bool(run) and run.get("status") != "finished:completed"
    if refused:
        why |= {name: f"{name}: the acceptance run failed: {run.get('msg') or run.get('status')}" for name in names if name not in why}
    stop = len({*before, *why}) > allowed
    chosen = names if stop else list(why)
    back = {name: was[name] for name in chosen if was[name]["workloads"] and differs(was[name], want[name])}
    return {"why": why, "back": back, "stop": stop}


def results(names: Sequence[str], gate: Facts, back: Mapping[str, Facts]) -> dict[str, dict[str, Any]]:
    """Site -> its result, of those that failed or were rolled back.

    Args:
        names: the sites of the wave.
        gate: of C(of_wave).
        back: site -> C(failed) and C(msg) of its return to what it ran before.
    """
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        why, was = gate["why"].get(name, ""), gate["back"].get(name)
        if was is not None:
            failed = back.get(name, {}).get("failed")
            end = f"and could not be rolled back to {was['version']}: {back[name]['msg']}" if failed else f"it runs {was['version']} again"
            first = why or f"{name}: its wave failed"
            found[name] = {"changed": True, "failed": bool(why or failed), "msg": f"{first.rstrip('.')}; {end}"}
        elif why:
            found[name] = {"changed": False, "failed": True, "msg": why}
    return found


def stopped(number: int, waves: Sequence[Sequence[str]], told: Mapping[str, Facts], allowed: int) -> str:
    """Why the upgrade stops, and what to do."""
    untouched = [name for wave in waves[number:] for name in wave]
    rest = f" Not touched: {', '.join(untouched)}." if untouched else ""
    words = " ".join(f"{one['msg'].rstrip('.')}." for one in told.values())
    return (
        f"wave {number} of {len(waves)} failed, and the upgrade stops: {words}{rest} Correct the cause and run federated.flower.upgrade again: it "
        f"continues with this wave. flower_upgrade_max_failed ({allowed}) is the number of sites that may fail."
    )
