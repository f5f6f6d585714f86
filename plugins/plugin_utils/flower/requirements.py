# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compare the requirements of an app with the packages of an image. Pure.

Source of the rules: packaging.python.org, «Dependency specifiers» and «Version specifiers», as the library packaging has them.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

try:
    from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.utils import canonicalize_name
    from packaging.version import InvalidVersion, Version
except ImportError:  # ansible-core needs it; only the documentation is read without it
    pass

from ..base.errors import ClusterError

# Flower's templates declare flwr[simulation]. Its packages simulate a federation on one machine; a deployed one does not use them.
_UNUSED = {("flwr", "simulation")}
# Markers of the kernel, which belong to a node and not to an image: never those of the control node.
_NO_KERNEL = {"platform_release": "", "platform_version": ""}


@dataclass(frozen=True)
class PackageList:
    """Packages of an image.

    Attributes:
        packages: normalized name -> version.
        environment: what markers of requirements refer to.
        extras: name -> extra -> its requirements; empty where they are not known.
    """

    packages: dict[str, str]
    environment: dict[str, str] = field(default_factory=dict)
    extras: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    @classmethod
    def read(cls, found: Any) -> PackageList:
        """The answer of C(package_program.py). It comes from a container of someone else, so its shape is checked.

        Raises:
            ClusterError: it is not a list of packages.
        """
        extras = found.get("extras") if isinstance(found, dict) else None
        if not (
            isinstance(extras, dict)
            and _are_texts(found.get("packages"))
            and _are_texts(found.get("environment"))
            and all(isinstance(named, dict) and all(map(_is_list, named.values())) for named in extras.values())
        ):
            raise ClusterError("its Python answers with something else than a list of packages")
        return cls(found["packages"], found["environment"], extras)


def _are_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


@dataclass(frozen=True)
class Misfit:
    """A requirement that an image does not meet.

    Attributes:
        package: its name.
        wanted: the required range of versions; empty for any.
        found: the version that is installed; empty for none.
        of: the requirement whose extra requires it; empty if the app does.
    """

    package: str
    wanted: str
    found: str
    of: str = ""

    def __str__(self) -> str:
        name = f"{self.package} (required by {self.of})" if self.of else self.package
        if not self.found:
            return f"{name}: {self.wanted or 'any version'} is required, and it is not installed"
        return f"{name}: {self.wanted} is required, and {self.found} is installed"


def parse(texts: Sequence[str]) -> tuple[list[Requirement], list[str]]:
    """Read requirements; returns them, and sentences about those that are none."""
    found, faults = [], []
    for text in texts:
        try:
            found.append(Requirement(text))
        except InvalidRequirement as error:
            faults.append(f"{text!r} is not a requirement ({str(error).splitlines()[0]})")
    return found, faults


def fits_this_python(wanted: str) -> bool:
    """Whether the control node's Python is in a range of versions (C(requires-python)); so it is where the range is none."""
    try:
        return SpecifierSet(wanted).contains(platform.python_version(), prereleases=True)
    except InvalidSpecifier:
        return True


def misfits(wanted: Sequence[Requirement], held: PackageList) -> list[Misfit]:
    """What an image lacks of some requirements, each once, in their order."""
    seen: set[tuple[str, str]] = set()
    return list(dict.fromkeys(one for requirement in wanted for one in _misfits(requirement, held, seen)))


def _misfits(
    wanted: Requirement, held: PackageList, seen: set[tuple[str, str]], extra: str = "", of: str = ""
) -> Iterator[Misfit]:
    if not _applies(wanted, held, extra):
        return
    name = canonicalize_name(wanted.name)
    found = held.packages.get(name)
    if found is None or not _fits(wanted, found):
        yield Misfit(wanted.name, str(wanted.specifier), _shown(found), of)
    if found is None:
        return
    for one in sorted(canonicalize_name(extra) for extra in wanted.extras):
        if (name, one) in _UNUSED | seen:
            continue
        seen.add((name, one))
        needed, _faults = parse(held.extras.get(name, {}).get(one, ()))
        for inner in needed:
            yield from _misfits(inner, held, seen, one, f"{wanted.name}[{one}]")


def _applies(wanted: Requirement, held: PackageList, extra: str) -> bool:
    """Whether a requirement counts in the image's environment. One that cannot be evaluated counts, so that it is seen."""
    if wanted.marker is None:
        return True
    try:
        return wanted.marker.evaluate({**_NO_KERNEL, **held.environment, "extra": extra})
    except (UndefinedComparison, UndefinedEnvironmentName, InvalidVersion):
        return True


def _fits(wanted: Requirement, found: str) -> bool:
    """Whether a version is in the range. Pre-releases count: they are installed. Nothing is known of what comes from a URL."""
    try:
        return bool(wanted.url) or wanted.specifier.contains(Version(found), prereleases=True)
    except InvalidVersion:
        return not wanted.specifier


def _shown(version: str | None) -> str:
    """A version for people; it comes from a container of someone else."""
    if version is None:
        return ""
    return version if len(version) <= 60 and version.isascii() and version.isprintable() and version else "no version"
