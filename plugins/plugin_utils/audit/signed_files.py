# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files of a statement: the JSON that is signed, the same for people, the signature, and the certificate to verify it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..base import foreign_data
from ..base.errors import ClusterError

#: Endings of the files beside C(NAME.json).
TEXT, SIGNATURE, CERTIFICATE = ".txt", ".sig", ".crt"


def content(statement: Mapping[str, Any]) -> bytes:
    """The bytes that are signed."""
    return (json.dumps(statement, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def write(path: Path, parts: Mapping[str, bytes]) -> None:
    """Write a statement and the files beside it, each as a whole; the JSON comes last, so it is never there without the others.

    Args:
        path: of the JSON. Its folder is created, but not the one above it: a typing error in a path makes no tree of folders.
        parts: ending -> content.

    Raises:
        ClusterError: a file cannot be written, or the folder cannot be created.
    """
    try:
        path.parent.mkdir(exist_ok=True)
        for ending, data in sorted(parts.items(), key=lambda part: part[0] == path.suffix):
            with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.stem}", delete=False) as file:
                file.write(data)
            os.chmod(file.name, 0o644)
            os.replace(file.name, path.with_suffix(ending))
    except OSError as error:
        raise ClusterError(
            f"the statement {path} cannot be written: {error}. Set flower_statement_directory to a folder that you may write to."
        ) from error


def read(path: Path) -> tuple[dict[str, Any], bytes, bytes, str]:
    """A statement, its bytes, its signature and the certificate beside it.

    Raises:
        ClusterError: a file cannot be read, or is not a statement.
    """
    try:
        data = path.read_bytes()
        signature = path.with_suffix(SIGNATURE).read_bytes()
        certificate = path.with_suffix(CERTIFICATE).read_text(encoding="ascii")
        statement = foreign_data.read_json(data)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"the statement {path} cannot be read: {error}. Beside it must be its files {SIGNATURE} and {CERTIFICATE}."
        ) from error
    if not isinstance(statement, dict):
        raise ClusterError(f"{path} is not a statement: it does not hold an object of JSON.")
    return statement, data, signature, certificate
