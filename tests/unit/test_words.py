# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages, docstrings, comments and documentation use plain words: none of the fragments below, no exceptions."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("plugins", "roles", "playbooks", "docs", "tools")

#: (Text by which a line is found, regular expression on that line, what to write instead), all in lower case.
PLAIN = (
    ("body", r"\b(some|any|no)body\b", "someone, anyone, no one, or the thing itself: «is not used»"),
    ("whoever", r"\bwhoever\b", "who, anyone who, or the thing itself"),
    ("told", r"\btold\b(?! to fail)", "reported, shown, configured"),
    ("anew", r"\banew\b", "again, recreate, reissue, rewrite"),
    ("is no ", r"(?<!there )\bis no (?!longer\b|more\b)", "is not a"),
    ("on with", r"\b(go|goes|gone|going) on with\b", "continue, resume"),
    ("begun", r"\b(was|were|is|been) begun\b", "started"),
    ("broke off", r"\bbroke off\b", "was interrupted"),
    ("mend", r"\bmend(s|ed|ing)?\b", "repair, resolve, correct"),
    ("way", r"\bways? out\b", "remedy"),
    ("away", r"\b(take|takes|taken|taking|took) (\w+ )?away\b", "remove, delete"),
    ("door", r"(?<!\")\bdoors?\b(?!\")", "port, listener"),
    ("well", r"\bended well\b|\bis not well\b|\ball is well\b", "succeeded; is not healthy"),
    ("for ever", r"\bfor ever\b", "permanently, without a limit"),
    ("brought", r"\bbrought along\b", "existing, provided by the user"),
    ("handed", r"\bhanded in\b", "provided by the user"),
    ("last word", r"\blast words\b", "the end of its log"),
    (" so", r"\bmade so\b|\bmake .{1,20} so\b", "apply"),
    ("unfold", r"\bunfold(s|ed)?\b", "expand"),
    ("someone", r"\bmade by someone\b", "created by someone else"),
    ("awaited", r"\b(is|are) not awaited\b", "the playbook does not wait for it"),
    ("asked", r"\bcannot be asked\b", "cannot be queried, cannot be read"),
    ("answer that", r"\ban answer that is none\b", "an invalid answer"),
    ("together", r"\bdo(es)? not go together\b", "cannot be combined with"),
    ("no meaning", r"\bha(s|ve) no meaning\b", "has no effect"),
    ("room", r"\b(how much|too little) room\b", "the free space, too little free space"),
    ("already", r"\b(is|are) there already\b", "already exists"),
    ("whatever", r"\bwhatever (happens|runs|is there|it is)\b", "any, in any case"),
    ("of their own", r"\b(pods?|workloads?|namespaces?|files?) of their own\b", "their own pods, separate"),
)


#: Literals that are stored in clusters, which stay as they are: purposes of rights, and the text in the owner of a site's keys.
STORED = ("plugins/plugin_utils/rights/table.py", "plugins/plugin_utils/manifests/site_jobs.py")


def sources() -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".yml", ".rst", ".md"):
                yield path


def prose(path: Path, *, literals: bool = True) -> Iterator[tuple[int, str]]:
    """Lines of text for people, with their numbers: of Python only literals with a space, docstrings and comments."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from enumerate(text.splitlines(), 1)
        return
    if literals:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
                yield from enumerate(node.value.splitlines(), node.lineno)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def better(line: str, fragments: Iterable[tuple[str, str, str]] = PLAIN) -> str:
    """What to write instead in a line; empty when it is plain."""
    line = line.lower()
    return next((plain for text, quaint, plain in fragments if text in line and re.search(quaint, line)), "")


def findings(path: Path) -> list[str]:
    name = path.relative_to(ROOT).as_posix()
    text = path.read_text(encoding="utf-8").lower()
    fragments = [one for one in PLAIN if one[0] in text and re.search(one[1], text)]  # parsing is slow
    if not fragments:
        return []
    lines = prose(path, literals=name not in STORED)
    return [f"{name}:{number}: {line.strip()} ({plain})" for number, line in lines if (plain := better(line, fragments))]


def test_plain_words() -> None:
    found = [one for path in sources() for one in findings(path)]
    assert not found, "\n".join(found)


#: Parts of names that say nothing to a reader of another file.
VAGUE = re.compile(r"(?:^|_)(?:way|ways|told|wish|wishes|made|held|look|looked|settle|settled)(?:_|$)")
#: What runs in pods and at sites stays as it is: a renamed variable would restart them. The head of archives is stored.
SHIPPED = (
    "plugins/plugin_utils/backup/archive.py",
    "plugins/plugin_utils/programs/",
    "plugins/plugin_utils/site_keys/",
    "plugins/plugin_utils/pki/",
    "plugins/plugin_utils/marks/",
)


def names_of(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Names of functions, classes, arguments, variables and attributes that a file defines, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr, node.lineno


def test_names_say_what_they_are() -> None:
    found = []
    for path in sorted((ROOT / "plugins").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(SHIPPED):
            found += [
                f"{name}:{line}: {one}"
                for one, line in names_of(ast.parse(path.read_bytes()))
                if VAGUE.search(one.lower())
            ]
    assert not found, "\n".join(found)


def test_a_vague_name_is_found() -> None:
    tree = ast.parse("def way_out(held=0):\n    told = seen.made = weight = 1\n")
    assert [one for one, _line in names_of(tree) if VAGUE.search(one)] == ["way_out", "held", "told", "made"]
