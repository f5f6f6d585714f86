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
    (warning,) = app.warnings
    assert warning.startswith("Flower packs only .json, .jsonl, .md, .py, .toml, .yaml, .yml, so these files are not part of the app")
    assert ": data.csv 0 B, demo/model.npz 0 B. Bring data to the sites" in warning and "flower_run_inputs" in warning


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
    with pytest.raises(FlowerError, match=r"too large.*Largest files: demo/weights\.json 1\.0 MiB, .* and 2 more\. .*\(flower_run_inputs\), or exclude"):
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


def test_dependencies_are_read(folder: Path) -> None:
    assert apps.load(folder).dependencies == ()
    project = PROJECT.replace('version = "1.2"', 'version = "1.2"\ndependencies = ["flwr>=1.40", "numpy"]')
    (folder / "pyproject.toml").write_text(project)
    assert apps.load(folder).dependencies == ("flwr>=1.40", "numpy")
    (folder / "pyproject.toml").write_text(project.replace('["flwr>=1.40", "numpy"]', '"numpy"'))
    with pytest.raises(FlowerError, match="dependencies in pyproject.toml is not a list"):
        apps.load(folder)


@pytest.mark.parametrize("name", ["model.pth", "train.csv", "weights.npz", "demo/model.safetensors", "demo/data/x.parquet", "vocab.txt", "scan.png"])
def test_a_file_that_flower_does_not_pack_is_named_with_its_size(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(bytes(3 * 1024))
    (warning,) = apps.load(folder).warnings
    assert f": {name} 3.0 KiB. Bring data to the sites (flower_run_datasets)" in warning and "flower_run_inputs" in warning


@pytest.mark.parametrize("name", ["Dockerfile", "demo/py.typed", "uv.lock", "notes.ipynb", ".env", ".github/logo.png", "run.sh", "demo/x.pyc", "LICENSE.txt"])
def test_what_no_app_opens_is_not_worth_a_word(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"x")
    assert apps.load(folder).warnings == []


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("server", "app = None\ndef main(:\n", r"demo/server\.py, line 2: .*invalid syntax|demo/server\.py, line 2: "),
        ("client", "app = None\n\n\nif True:\nx = 1\n", r"demo/client\.py, line 5: expected an indented block"),
        ("server", "print 'x'\napp = 1\n", r"demo/server\.py, line 1: Missing parentheses"),
        ("server", "app = 1\nreturn 3\n", r"demo/server\.py, line 2: 'return' outside function"),
        ("server", "app = '\xff'\n".encode("latin-1"), r"demo/server\.py.*: .*utf-8"),
        ("server", "app = 1\x00\n", r"demo/server\.py: source code string cannot contain null bytes|demo/server\.py, line"),
        ("client", "app = " + "(" * 500 + ")" * 500, r"demo/client\.py.*: "),
        ("server", "application = 1\n", r"demo/server\.py has no line 'app = …', which serverapp names"),
        ("client", "app: int = 1\n", r"demo/client\.py has no line 'app = …', which clientapp names"),
        ("client", None, r"clientapp names the module demo\.client, and demo/client\.py is not among the app's files"),
    ],
)
def test_a_component_that_flower_would_refuse(folder: Path, name: str, content: str | bytes | None, message: str) -> None:
    path = folder / "demo" / f"{name}.py"
    path.unlink()
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(FlowerError, match=message):
        apps.load(folder)


@pytest.mark.parametrize("value", ["demo.server", ":app", "demo.server:"])
def test_a_component_that_names_nothing(folder: Path, value: str) -> None:
    (folder / "pyproject.toml").write_text(PROJECT.replace("demo.server:app", value))
    with pytest.raises(FlowerError, match=f"serverapp = '{value}' is not MODULE:ATTRIBUTE"):
        apps.load(folder)


def test_components_that_flower_finds(folder: Path) -> None:
    (folder / "demo/server.py").write_text("import warnings\ntry:\n    from x import make\nexcept ImportError:\n    app = wrapped = 1\nx = '\\d'\n")
    (folder / "demo/client.py").unlink()
    (folder / "demo/client").mkdir()
    (folder / "demo/client/__init__.py").write_text("from .inner import app\n__all__ = ['app']\n")
    (folder / "pyproject.toml").write_text(PROJECT.replace("demo.server:app", "demo.server:app.inner"))
    assert apps.load(folder).warnings == []


def test_a_component_of_a_package_in_the_image_is_a_warning(folder: Path) -> None:
    (folder / "pyproject.toml").write_text(PROJECT.replace("demo.server:app", "library.server:app"))
    (warning,) = apps.load(folder).warnings
    assert "serverapp names the module library.server, which is not among the app's files" in warning


def test_code_that_is_no_component_is_a_warning(folder: Path) -> None:
    (folder / "demo/task.py").write_text("def f(:\n")
    (warning,) = apps.load(folder).warnings
    assert warning.startswith("Python cannot read a file of the app: demo/task.py, line 1: ")


def test_code_for_a_newer_python_is_a_warning(folder: Path) -> None:
    (folder / "demo/server.py").write_text("app = 1\nnew syntax\n")
    (folder / "pyproject.toml").write_text(PROJECT.replace('version = "1.2"', 'version = "1.2"\nrequires-python = ">=3.99"'))
    (warning,) = apps.load(folder).warnings
    assert "demo/server.py, line 2" in warning
    (folder / "pyproject.toml").write_text(PROJECT.replace('version = "1.2"', 'version = "1.2"\nrequires-python = ">=3.8"'))
    with pytest.raises(FlowerError, match=r"would be refused by Flower: demo/server\.py, line 2.*set requires-python in \[project\]"):
        apps.load(folder)


@pytest.mark.parametrize("components", ['agentapp = "agent.agent_app:app"', 'agentapp = "a:b"\nserverapp = "demo.server:app"\nclientapp = "demo.client:app"'])
def test_an_agentapp_is_refused_as_such(folder: Path, components: str) -> None:
    head, _table, rest = PROJECT.partition("[tool.flwr.app.components]\n")
    text = f"{head}[tool.flwr.app.components]\n{components}\n{rest[rest.index('[tool.flwr.app.config]'):]}"
    (folder / "pyproject.toml").write_text(text)
    with pytest.raises(FlowerError, match="is an AgentApp, which this collection does not run"):
        apps.load(folder)
