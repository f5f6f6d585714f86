# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A folder that takes the place of the volume for outputs: the program that runs in pods is called here."""

from __future__ import annotations

import io
import os
import types

from ansible_collections.federated.flower.plugins.plugin_utils.backup import volume_files
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.programs import files_program


class Place(volume_files.Place):
    """A folder instead of a volume in a pod; with it, the program has no cluster between."""

    def __init__(self, folder, monkeypatch):
        object.__setattr__(self, "cluster", types.SimpleNamespace(name=folder.name))
        object.__setattr__(self, "folder", folder)
        object.__setattr__(self, "patch", monkeypatch)
        object.__setattr__(self, "asked", [])

    def ask(self, action, data=b"", **request):
        self.asked.append((action, request))
        self.patch.setattr(files_program, "ROOT", str(self.folder))
        self.patch.setattr(files_program.sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(data)))
        answers = list(files_program.main({"action": action, **request}))
        for one in answers:
            if one.get("fault"):
                raise ClusterError(one["fault"])
        return answers


def written(place, path, content, when=1_700_000_000_123_456_789):
    """Write a file on the volume."""
    file = place.folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    os.utime(file, ns=(when, when))


def content(place):
    """Path -> content of all files of the volume."""
    return {str(path.relative_to(place.folder)): path.read_bytes() for path in place.folder.rglob("*") if path.is_file()}
