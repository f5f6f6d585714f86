# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ServerApps work in the folder of their run's outputs: C(base/serverapp_program) stands before Flower's C(flwr-serverapp) in PATH.

SuperExec starts that program by its name and has no option for a working directory. The image's own PATH is not known here, so a shell
extends it, and replaces itself with the program that the image would start.
"""

from __future__ import annotations

import inspect

from ..base import serverapp_program
from ..base.values import Object
from ..spec.hub_spec import HubSpec
from .objects import config_map
from .pod import config_volume, mount

CONFIG = VOLUME = "superlink-serverapp"
ROOT = "/serverapp"


def objects(spec: HubSpec) -> list[Object]:
    """The ConfigMap with the program; nothing without outputs."""
    if not spec.outputs_enabled:
        return []
    return [config_map(spec, CONFIG, "superlink", {serverapp_program.NAME: program()}, "outputs")]


def program() -> str:
    """What SuperExec finds first under the name of Flower's program."""
    return f"#!/usr/bin/env python3\n{inspect.getsource(serverapp_program)}"


def command(spec: HubSpec, entrypoint: str) -> Object:
    """The entry C(command) of the container that starts ServerApps, in which the image would start C(entrypoint)."""
    if not spec.outputs_enabled:
        return {}
    return {"command": ["sh", "-c", f'PATH="{ROOT}:$PATH" exec "$0" "$@"', entrypoint]}


def mounts(spec: HubSpec) -> list[Object]:
    """Mounts of that container."""
    return [mount(VOLUME, ROOT)] if spec.outputs_enabled else []


def volumes(spec: HubSpec) -> list[Object]:
    """Volumes of its pod."""
    if not spec.outputs_enabled:
        return []
    volume = config_volume(VOLUME, CONFIG)
    volume["configMap"]["defaultMode"] = 0o555
    return [volume]
