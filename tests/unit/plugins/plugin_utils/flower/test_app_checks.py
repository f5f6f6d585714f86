# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An app's own rules: what they leave out is not read, and they are not refused by Flower because of what is left out here."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest
import tomllib

from ansible_collections.federated.flower.plugins.plugin_utils.flower import app as apps
from ansible_collections.federated.flower.plugins.plugin_utils.flower import app_checks
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerError

HEAD = """# an app
[project]
name = "demo"
version = "1.2"

[tool.flwr.app]
publisher = "me"
"""
TAIL = """
[tool.flwr.app.components]
serverapp = "demo.server:app"
clientapp = "demo.client:app"
"""


def app(folder: Path, files: dict[str, str] | None = None, rules: str = "") -> Path:
    """An app with files."""
    for name, content in {"pyproject.toml": HEAD + rules + TAIL, "demo/server.py": "app = 1\n", "demo/client.py": "app = 1\n", **(files or {})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def test_ignored_data_is_neither_read_nor_sent(tmp_path: Path) -> None:
    app(tmp_path, {".gitignore": "# mine\ndata/\n/secrets.yaml\n*.local.toml\n", "data/x.jsonl": "", "secrets.yaml": "token", "a.local.toml": ""})
    with open(tmp_path / "data/x.jsonl", "wb") as big:
        big.truncate(apps.SEND_LIMIT + 1)
    os.symlink("/", tmp_path / "data/link")
    assert sorted(apps.load(tmp_path).files) == [".gitignore", "demo/client.py", "demo/server.py", "pyproject.toml"]
    (tmp_path / ".gitignore").write_text("/data/link\n")
    with pytest.raises(FlowerError, match=r"too large: more than 64 MiB to send.*or exclude files with \.gitignore\."):
        apps.load(tmp_path)


def test_exceptions_of_ignored_folders_are_sent(tmp_path: Path) -> None:
    app(tmp_path, {".gitignore": "data/*\n!data/schema.json\n", "data/schema.json": "{}", "data/rows.json": "[]"})
    assert {"data/schema.json"} == {name for name in apps.load(tmp_path).files if name.startswith("data")}


def test_a_line_that_is_no_pattern_is_named(tmp_path: Path) -> None:
    app(tmp_path, {".gitignore": "data/\n\\\n"})
    with pytest.raises(FlowerError, match=r"\.gitignore: Invalid git pattern: .*\. Correct the line\."):
        apps.load(tmp_path)


def packed(path: Path, pyproject: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {"pyproject.toml": pyproject, "demo/server.py": "app = 1\n", "demo/client.py": "app = 1\n"}.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize(
    "rules",
    [
        'fab-exclude = ["tests/**"]\n',
        'fab-exclude = [\n    "tests/**",\n    "]",  # one\n]\nfab-include = ["demo/**"]\n',
        '"fab-include" = []\n',
    ],
)
def test_a_bundle_was_packed_by_its_patterns_already(tmp_path: Path, rules: str) -> None:
    sent = apps.load(packed(tmp_path / "a.fab", HEAD + rules + TAIL)).files["pyproject.toml"].decode()
    assert sent == HEAD + TAIL and tomllib.loads(sent)["tool"]["flwr"]["app"]["publisher"] == "me"


def test_what_cannot_be_cut_out() -> None:
    text = '[tool.flwr]\napp = { publisher = "me", fab-exclude = ["x"] }\n'
    with pytest.raises(ValueError, match="cannot be cut out"):
        app_checks.without_key(text, "tool", "flwr", "app", "fab-exclude")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app(tmp_path)

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(FlowerError, match=r"a part of the app cannot be read: .*pyproject\.toml: Permission denied\."):
        apps.load(tmp_path)


CONNECTIONS = """
[tool.flwr.federations]
default = "local"

[tool.flwr.federations.local]  # one machine
options.num-supernodes = 10
root-certificates = "ca.crt"
"""


@pytest.mark.parametrize("end", ["", '\n[tool.other]\nkey = ["a",\n["b"]]\n'])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_connections_of_apps_for_older_releases_are_not_sent(tmp_path: Path, end: str, line_end: str) -> None:
    app(tmp_path)
    project = tmp_path / "pyproject.toml"
    project.write_bytes((HEAD + TAIL + CONNECTIONS + end).replace("\n", line_end).encode())
    assert tomllib.loads(apps.load(tmp_path).files["pyproject.toml"].decode()) == tomllib.loads(HEAD + TAIL + end)
    with zipfile.ZipFile(tmp_path / "a.fab", "w") as packed:
        packed.write(project, "pyproject.toml")
    assert b"federations" not in apps.load(tmp_path / "a.fab").files["pyproject.toml"]


def test_connections_that_stay_are_named(tmp_path: Path) -> None:
    apart = CONNECTIONS.replace("\n[tool.flwr.federations.local]", "\n[tool.other]\na = 1\n[tool.flwr.federations.local]")
    app(tmp_path, {"pyproject.toml": HEAD + TAIL + apart})
    with pytest.raises(FlowerError, match=r"pyproject\.toml: remove \[tool\.flwr\.federations\] from it"):
        apps.load(tmp_path)


def test_a_file_that_is_too_big_is_not_read(tmp_path: Path) -> None:
    app(tmp_path, {"data/rows.jsonl": ""})
    with open(tmp_path / "data/rows.jsonl", "wb") as big:
        big.truncate(2**43)
    with pytest.raises(FlowerError, match=r"more than 64 MiB to send.*data/rows\.jsonl 8\.0 TiB"):
        apps.load(tmp_path)
