# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples of README.md and the guides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ansible_collections.federated.flower.tests.unit.read import ROOT

PAGES = sorted((ROOT / "docs" / "docsite" / "rst").glob("*.rst"))
SHELL = ("console", "shell", "bash", "sh")


@dataclass
class Block:
    """An example of a page."""

    page: str
    line: int
    language: str
    text: str
    last: int = 0  # its last line, with blank ones after it

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass
class Command:
    """A command of a page, and the lines that the page shows as its output."""

    block: Block
    text: str
    output: list[str]


def rst_blocks(page: str, text: str) -> Iterator[Block]:
    lines = text.splitlines()
    for number, line in enumerate(lines):
        found = re.match(r"( *)(?:\* - |- )?\.\. code-block:: ([\w+]+)$", line)
        if found:
            body = []
            for other in lines[number + 1 :]:
                if other.strip() and len(other) - len(other.lstrip()) <= len(found[1]):
                    break
                body.append(other)
            last = number + 1 + len(body)
            while body and not body[0].strip():
                body.pop(0)
            cut = len(body[0]) - len(body[0].lstrip()) if body else 0
            yield Block(page, number + 1, found[2], "\n".join(one[cut:] for one in body).rstrip() + "\n", last)


def markdown_blocks(page: str, text: str) -> Iterator[Block]:
    for found in re.finditer(r"^( *)```(\w+)\n(.*?)^ *```$", text, re.M | re.S):
        yield Block(page, text[: found.start()].count("\n") + 1, found[2], found[3])


def blocks() -> Iterator[Block]:
    yield from markdown_blocks("README.md", (ROOT / "README.md").read_text(encoding="utf-8"))
    for path in PAGES:
        yield from rst_blocks(path.name, path.read_text(encoding="utf-8"))


def commands(found: list[Block]) -> list[Command]:
    """What is typed at the prompts of blocks, with the lines that continue it. Output is below it, or in a block of text that follows at once."""
    listed: list[Command] = []
    for block in found:
        if block.language in SHELL:
            continued = False
            for line in block.text.splitlines():
                if continued:
                    listed[-1].text = f"{listed[-1].text[:-1]} {line.strip()}"
                elif line.startswith("$ "):
                    listed.append(Command(block, line.removeprefix("$ "), []))
                elif listed and listed[-1].block is block:
                    listed[-1].output.append(line)
                continued = (continued or line.startswith("$ ")) and line.endswith("\\")
        elif block.language == "text" and listed and (block.page, block.line) == (listed[-1].block.page, listed[-1].block.last + 1):
            listed[-1].output += block.text.splitlines()
    return listed


BLOCKS = list(blocks())
COMMANDS = commands(BLOCKS)
