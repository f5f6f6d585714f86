# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of an app is sent, and what is refused before anything is sent."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.flower import app as apps
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerError

ROOT = Path(__file__).resolve().parents[5]
PROJECT = """
[project]
name = "demo"
version = "1.2"
[tool.flwr.app]
publisher = "me"
[tool.flwr.app.components]
serverapp = "demo.server:app"
clientapp = "demo.client:app"
[tool.flwr.app.config]
rounds = 3
model = { depth = 2, name = "small" }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An app."""
    (tmp_path / "demo").mkdir()
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    for name in ("__init__", "server", "client"):
        (tmp_path / "demo" / f"{name}.py").write_text("app = None\n")
    return tmp_path


def test_only_what_flower_packs_is_sent(folder: Path) -> None:
    for name in (
        ".git/x.py",
        "venv/lib/y.py",
        "demo/__pycache__/server.py",
        "build/z.py",
        ".venv/a.py",
        ".flwr/b.toml",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    for name in (
        "data.csv",
        "demo/model.npz",
        "demo/old.pyc",
        "demo/LICENSE",
        "LICENSE",
        ".gitignore",
        "demo/settings.yaml",
    ):
        (folder / name).write_text("")
    (folder / "demo" / "lib").mkdir()
    (folder / "demo" / "lib" / "deep.py").write_text("")
    app = apps.load(folder)
    assert sorted(app.files) == [
        ".gitignore",
        "LICENSE",
        "demo/__init__.py",
        "demo/client.py",
        "demo/lib/deep.py",
        "demo/server.py",
        "demo/settings.yaml",
        "pyproject.toml",
    ]
    assert (app.name, app.version) == ("me/demo", "1.2")
    assert app.defaults == {"rounds": 3, "model.depth": 2, "model.name": "small"}
    assert app.warnings == []


def test_the_archive_holds_the_files_and_is_always_the_same(folder: Path) -> None:
    app = apps.load(folder)
    archive = app.archive()
    assert archive == apps.load(folder).archive()
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        assert {name: tar.extractfile(name).read() for name in tar.getnames()} == app.files


@pytest.mark.parametrize("target", ["/etc/hostname", "../../outside.py", "/"])
def test_a_link_that_leads_out_is_refused(folder: Path, target: str) -> None:
    (folder / "demo" / "more.py").symlink_to(target)
    with pytest.raises(FlowerError, match=r"a target outside the folder: demo/more\.py -> "):
        apps.load(folder)


def test_a_link_inside_is_left_out_with_a_warning(folder: Path) -> None:
    (folder / "demo" / "more.py").symlink_to("server.py")
    app = apps.load(folder)
    assert "demo/more.py" not in app.files
    assert "demo/more.py" in app.warnings[0]


def test_links_in_an_environment_do_not_matter(folder: Path) -> None:
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / ".venv" / "bin" / "python").symlink_to("/usr/bin/python3")
    assert apps.load(folder).warnings == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[tool.flwr.app]", "[tool.flwr.other]"), r"lacks \[tool\.flwr\.app\] publisher$"),
        (("serverapp", "other"), r"lacks \[tool\.flwr\.app\.components\] serverapp$"),
        (('name = "demo"', ""), r"lacks \[project\] name$"),
        (("rounds = 3", "rounds = "), "cannot read pyproject.toml"),
    ],
)
def test_what_is_no_app(folder: Path, change: tuple[str, str], message: str) -> None:
    (folder / "pyproject.toml").write_text(PROJECT.replace(*change, 1))
    with pytest.raises(FlowerError, match=message):
        apps.load(folder)


def test_no_project_and_no_folder(tmp_path: Path) -> None:
    with pytest.raises(FlowerError, match="it has no pyproject.toml"):
        apps.load(tmp_path)
    with pytest.raises(FlowerError, match="does not exist"):
        apps.load(tmp_path / "nowhere")
    for address in ("https://github.com/me/app.git", "@me/app"):
        with pytest.raises(FlowerError, match=f"the app {address} is not on the control node: clone or download it"):
            apps.load(address)
    (tmp_path / "app.zip").write_text("")
    with pytest.raises(FlowerError, match="neither a folder nor a .fab file"):
        apps.load(tmp_path / "app.zip")


def test_a_project_from_windows(folder: Path) -> None:
    (folder / "pyproject.toml").write_bytes(b"\xef\xbb\xbf" + PROJECT.replace("\n", "\r\n").encode())
    app = apps.load(folder)
    assert app.name == "me/demo" and app.files["pyproject.toml"].startswith(b"\r\n[project]")


def test_too_big(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apps, "FAB_LIMIT", 1024 * 1024)
    (folder / "demo" / "weights.json").write_bytes(os.urandom(apps.FAB_LIMIT + 1))
    with pytest.raises(FlowerError, match=r"too big.*Largest files: demo/weights\.json 1\.0 MiB"):
        apps.load(folder)
    (folder / ".gitignore").write_text("weights.json\n")
    assert "demo/weights.json" not in apps.load(folder).files
    # with patterns of its own, Flower has the last word
    (folder / ".gitignore").write_text("other.json\n")
    assert "demo/weights.json" in apps.load(folder).files


def bundle(path: Path, files: dict[str, bytes], listed: str | None = None) -> Path:
    """A bundle as C(flwr build) makes it."""
    lines = [f"{name},{hashlib.sha256(content).hexdigest()},{len(content) * 8}" for name, content in files.items()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.writestr(".info/CONTENT", "\n".join(lines) if listed is None else listed)
    return path


def test_a_bundle_is_an_app_too(folder: Path) -> None:
    files = apps.load(folder).files
    assert apps.load(bundle(folder / "me.demo.fab", files)).files == files


def test_bundles_that_are_refused(folder: Path) -> None:
    files = apps.load(folder).files
    with pytest.raises(FlowerError, match="damaged: demo/server.py"):
        apps.load(bundle(folder / "a.fab", files, listed="demo/server.py,00,8"))
    with pytest.raises(FlowerError, match=r"the path \.\./evil\.py"):
        apps.load(bundle(folder / "b.fab", files | {"../evil.py": b""}))
    (folder / "c.fab").write_text("no zip")
    with pytest.raises(FlowerError, match="not a Flower app bundle"):
        apps.load(folder / "c.fab")


def test_the_example_is_an_app() -> None:
    app = apps.load(ROOT / "examples" / "quickstart")
    assert app.name == "federated-flower/quickstart"
    assert {"num-server-rounds", "min-nodes", "fail", "sleep"} <= set(app.defaults)


def test_dependencies_are_read(folder: Path) -> None:
    assert apps.load(folder).dependencies == ()
    project = PROJECT.replace('version = "1.2"', 'version = "1.2"\ndependencies = ["flwr>=1.40", "numpy"]')
    (folder / "pyproject.toml").write_text(project)
    assert apps.load(folder).dependencies == ("flwr>=1.40", "numpy")
    (folder / "pyproject.toml").write_text(project.replace('["flwr>=1.40", "numpy"]', '"numpy"'))
    with pytest.raises(FlowerError, match="dependencies in pyproject.toml is not a list"):
        apps.load(folder)
