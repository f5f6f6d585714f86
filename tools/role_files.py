# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""Write the defaults and the README tables of the roles from their argument specifications: C(python tools/role_files.py [--check]).

With C(--check) nothing is written: the exit status is 1 if a file is not up to date. In roles/NAME/meta/argument_specs.yml, whose first entry
point is C(main), it reads

* C(default) of an option: the value of the variable. Where the description says "Defaults to C(flower_NAME) if it is set.", the variable has the
  value of that one, if it is set.
* C(# default:) of an option, in a comment: a template, for what differs from this rule. C(default) is then the value that documentation shows.
  It is a comment because Ansible evaluates all templates of a specification whenever it validates the arguments of the role.
* comments between options: headings.

What follows C(HAND) in defaults/main.yml stays as it is.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
HEAD = "---\n# SPDX-License-Identifier: Apache-2.0\n# tools/role_files.py writes this from meta/argument_specs.yml, which describes every variable.\n"
HAND = "\n# Written by hand: "
TABLE = "| Parameter | Description | Type | Required | Default |\n|---|---|---|---|---|\n"
WIDTH = 120  # longer templates have a line of their own

_PARAMETERS = re.compile(r"## Parameters\n.*?\n(?=\n## )", re.S)
_MAIN = re.compile(r"^ {4}options:.*\n((?: {6}.*\n|\n)*)", re.M)
_ENTRY = re.compile(r"^ {6}(?:# (?P<heading>.*)|(?P<name>\w+):.*\n(?P<body>(?: {7}.*\n)*))", re.M)
_TEMPLATE = re.compile(r"^ {8}# default:(.*(?:\n {8}# {3}.*)*)", re.M)
_DEFAULT = re.compile(r"^ {8}default:(.*(?:\n {9}.*)*)", re.M)
_SHARED = re.compile(r"Defaults to C\((flower_\w+)\) if it is set\.")

Options = dict[str, dict[str, Any]]


def sections(specification: str) -> list[tuple[str, dict[str, str]]]:
    """Headings, each with its options and the text of each in the specification."""
    found: list[tuple[str, dict[str, str]]] = []
    main = _MAIN.search(specification)
    for entry in _ENTRY.finditer(main[1] if main else ""):
        if entry["heading"]:
            found.append((entry["heading"], {}))
        else:
            found[-1][1][entry["name"]] = entry["body"]
    return found


def sentences(option: dict[str, Any]) -> list[str]:
    """The entries of a description, which may be one text."""
    description = option["description"]
    return [description] if isinstance(description, str) else description


def value(option: dict[str, Any], text: str) -> str:
    """The default of a variable as YAML, to stand behind its name and a colon; empty if it has none."""
    shared = _SHARED.search(" ".join(sentences(option)))
    if given := _TEMPLATE.search(text):
        return re.sub(r"(?m)^ {8}# ", "", given[1])
    if shared and "default" in option:
        default = option["default"]
        literal = str(default).lower() if isinstance(default, bool) else repr(default)
        template = f"{{{{ {shared[1]} | default({literal}) }}}}"
        return f' "{template}"' if len(template) < WIDTH else f" >-\n  {template}"
    default = _DEFAULT.search(text)
    return re.sub(r"(?m)^ {8}", "", default[1]) if default else ""


def defaults(options: Options, specification: str, present: str) -> str:
    """The content of defaults/main.yml.

    Args:
        options: of the entry point C(main).
        specification: the text of meta/argument_specs.yml.
        present: the content at present.
    """
    text = HEAD
    for heading, names in sections(specification):
        lines = [f"{name}:{default}" for name, body in names.items() if (default := value(options[name], body))]
        text += "\n".join(["", f"# {heading}", *lines, ""]) if lines else ""
    return text + "".join(present.partition(HAND)[1:])


def row(name: str, option: dict[str, Any]) -> str:
    """The row of an option in a table."""
    words = [re.sub(r"[VCOM]\(([^)]*)\)", r"`\1`", sentence).replace("|", "\\|") for sentence in sentences(option)]
    if choices := [f"`{choice}`" if choice else "empty" for choice in option.get("choices", [])]:
        words.append(f"Choices: {', '.join(choices)}.")
    kind = option["type"] + (f" of {option['elements']}" if "elements" in option else "")
    default = option.get("default")
    shown = "-" if default is None else f"`{default if isinstance(default, str) and default else json.dumps(default)}`"
    return f"| `{name}` | {' '.join(words)} | {kind} | {'yes' if option.get('required') else 'no'} | {shown} |\n"


def rows(name: str, option: dict[str, Any], role: str, known: Options) -> Iterator[str]:
    """The row of an option, and those of the options in it. What a pool may set for itself has its row as a variable of the role."""
    yield row(name, option)
    for inner, suboption in option.get("options", {}).items():
        if not (name.endswith("_pools") and f"{role}_{inner}" in known):
            yield from rows(f"{name}{'[]' if option['type'] == 'list' else ''}.{inner}", suboption, role, known)


def parameters(role: str, options: Options, specification: str) -> str:
    """The section of the README on the parameters."""
    text = f"## Parameters\n\n`ansible-doc -t role federated.flower.{role}` lists all details.\n"
    for heading, names in sections(specification):
        text += f"\n### {heading}\n\n{TABLE}" + "".join(line for name in names for line in rows(name, options[name], role, options))
    return text


def files(folder: Path) -> Iterator[tuple[Path, str]]:
    """Files of a role with what they should contain."""
    specification = (folder / "meta" / "argument_specs.yml").read_text(encoding="utf-8")
    options: Options = yaml.safe_load(specification)["argument_specs"]["main"]["options"]
    path = folder / "defaults" / "main.yml"
    yield path, defaults(options, specification, path.read_text(encoding="utf-8"))
    path = folder / "README.md"
    wanted = parameters(folder.name, options, specification)
    yield path, _PARAMETERS.sub(lambda _present: wanted, path.read_text(encoding="utf-8"))


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Write what is not up to date, or only name it; returns the exit status."""
    behind = [
        (path, text)
        for folder in sorted(path.parents[1] for path in root.glob("roles/*/meta/argument_specs.yml"))
        for path, text in files(folder)
        if path.read_text(encoding="utf-8") != text
    ]
    for path, text in behind:
        if "--check" in arguments:
            print(f"{path.relative_to(root)} is not what meta/argument_specs.yml says: make role-files writes it")
        else:
            path.write_text(text, encoding="utf-8")
            print(f"{path.relative_to(root)} written")
    return int(bool(behind and "--check" in arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
