# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of single values by their form, and what lists of such checks are made of.

Types, choices and keys of variables are checked before, by the roles' argument specifications (C(actions/role_options.py)). The rules of this package
are about what these cannot say: a table says what form each variable has, and a list of C(Rule) how variables fit each other. Each problem names the
cluster (inventory host), the variable and the value.
"""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ..apply.compare import quantity
from ..base.addresses import SUBDOMAIN, is_host, is_ip, split_address
from ..base.formats import duration
from ..base.problems import Problem
from ..base.values import boolean, integer, text
from ..manifests.patches import OWN_MARKS
from ..pki import chain, library

Spec = Mapping[str, Any]

# Kubernetes: RFC 1123 label, and qualified names (apimachinery/pkg/util/validation).
LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_QUANTITY = re.compile(r"[+-]?([0-9]+|[0-9]+\.[0-9]*|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?")
_DIGITS = 30  # beyond which Decimal rounds, and the API server computes for minutes
MAX_AMOUNT = 2**63 - 1
# github.com/distribution/reference: reference.go, «Grammar»; digests as github.com/opencontainers/go-digest knows them.
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[A-Fa-f0-9:]+\])(?::[0-9]+)?"
IMAGE = re.compile(
    rf"(?![a-f0-9]{{64}}(?![^:@]))(?![^@]*?[^:@]{{256}})(?:{_HOST}/)?{_PART}(?:/{_PART})*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?"
    r"(?:@(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}))?"
)
_OCTAL = re.compile(r"[+-]?0[0-9]+")

# Kubernetes uses int32 for almost all numbers.
MAX_NUMBER = 2**31 - 1
MAX_SECONDS = 7 * 24 * 3600  # that a step may be waited for
MAX_ANNOTATIONS = 256 * 1024
MAX_DAYS = 36500  # of a certificate
# The limit of Linux for an argument or NAME=value with its closing zero byte (MAX_ARG_STRLEN).
MAX_TEXT_BYTES = 131072 - 1
_SHOWN = 200  # characters of a value that a message shows
UNSET = (None, "")


class Shape:
    """Replaces a value that may contain a credential in a message: shows its type, not its content."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __repr__(self) -> str:
        if isinstance(self._value, Mapping):
            return f"an entry with the keys {', '.join(map(text, self._value)) or '(none)'}"
        if isinstance(self._value, list):
            return f"a list of {len(self._value)}"
        return f"a value of the type {type(self._value).__name__} (not shown)"


def shown(value: Any) -> str:
    """A value for a message, cut when it is long."""
    whole = repr(value[: _SHOWN + 1] if isinstance(value, (str, list)) else value)
    return whole if len(whole) <= _SHOWN else whole[:_SHOWN] + "…"


class Problems:
    """Collects what is wrong with the variables of a host.

    Args:
        spec: the variables without the prefix of their role.
        prefix: that prefix, such as C(superlink_).
    """

    def __init__(self, spec: Spec, prefix: str) -> None:
        self.cluster = text(spec.get("cluster"))
        self.prefix = prefix
        self.found: list[Problem] = []

    def add(self, variable: str, value: Any, reason: str) -> None:
        """Add a problem of a variable; C(variable): a key of the spec, with a path if needed (C(pools[0].name))."""
        # The hub's superlink_address has the prefix in its name.
        name = variable if variable.startswith(self.prefix) else self.prefix + variable
        where = f"{self.cluster}: " if self.cluster else ""
        self.found.append(Problem(f"{where}{name}: {shown(value)} {reason}"))

    def sentence(self, sentence: str) -> None:
        """Add a problem whose text is complete."""
        self.found.append(Problem(sentence if self.cluster in sentence else f"{self.cluster}: {sentence}"))

    def check(self, table: Mapping[str, Check], spec: Spec, at: str = "") -> None:
        """Check each variable of a table; C(at): the path before their keys."""
        for key, check in table.items():
            check(self, f"{at}{key}", spec.get(key))

    def apply(self, rules: Iterable[Rule], spec: Spec, at: str = "") -> None:
        """Add a problem for each rule that says so."""
        for rule in rules:
            if rule.is_wrong(spec):
                self.add(f"{at}{rule.variable}", spec.get(rule.variable), rule.reason.format_map(defaultdict(str, spec)))

    def unique(self, variable: str, entries: Iterable[Spec], reason: str, taken: Iterable[str] = ()) -> set[str]:
        """Names of the entries of a list, which are there once, and not taken; C({}) in the reason is the other one. Returns the names."""
        others = dict.fromkeys(taken, "")
        named = {index: entry["name"] for index, entry in enumerate(entries) if isinstance(entry.get("name"), str)}
        for index, name in named.items():
            if name in others:
                self.add(f"{variable}[{index}].name", name, reason.format(others[name]))
            others.setdefault(name, f"{variable}[{index}]")
        return set(named.values())

    # The checks. Each adds a problem if the value is wrong, and returns whether it was right.

    def label(self, variable: str, value: Any, limit: int = 63) -> bool:
        """A DNS-1123 label of at most C(limit) characters."""
        if not isinstance(value, str) or not LABEL.fullmatch(value):
            self.add(variable, value, "is not a DNS-1123 label: lower case letters, digits and -, with a letter or digit at both ends")
            return False
        if len(value) > limit:
            self.add(variable, value, f"has {len(value)} characters, at most {limit} are possible")
        return len(value) <= limit

    def subdomain(self, variable: str, value: Any) -> bool:
        """A DNS-1123 subdomain."""
        good = isinstance(value, str) and len(value) <= 253 and bool(SUBDOMAIN.fullmatch(value))
        if not good:
            self.add(variable, value, "is not a DNS name of lower case letters, digits, - and .")
        return good

    def name_or_ip(self, variable: str, value: Any) -> bool:
        """A DNS name or an IP address."""
        return is_ip(text(value)) or self.subdomain(variable, value)

    def number(self, variable: str, value: Any, low: int, high: int | None = None) -> bool:
        """A whole number in a range, by default up to C(MAX_NUMBER); "not set" is right."""
        try:
            number = None if isinstance(value, bool) else integer(value)
            good = not isinstance(value, (bool, float))
        except (TypeError, ValueError):
            good, number = False, None
        problem = "" if good else "is not an integer"
        if isinstance(value, str) and _OCTAL.fullmatch(value.strip()):
            problem = problem or "begins with 0: octal for some programs, decimal for others. Write the decimal number"
        elif number is not None and (number < low or (high is not None and number > high)):
            problem = f"is not between {low} and {high}" if high is not None else f"is below {low}"
        elif number is not None and number > MAX_NUMBER:
            problem = f"is above {MAX_NUMBER}, the largest number that Kubernetes accepts here"
        if problem:
            self.add(variable, value, problem)
        return not problem

    def choice(self, variable: str, value: Any, choices: Iterable[str]) -> bool:
        """One of some words."""
        words = list(choices)
        if value not in words:
            self.add(variable, value, f"is not one of {', '.join(words)}")
        return value in words

    def quantity(self, variable: str, value: Any) -> bool:
        """A Kubernetes quantity that is not negative, as "500m" or "2Gi"."""
        given = text(value)
        if isinstance(value, bool) or not _QUANTITY.fullmatch(given) or given.startswith("-"):
            self.add(variable, value, 'is not a quantity like "500m", "2" or "4Gi"')
            return False
        amount = quantity(given)
        if amount is None or not -_DIGITS < amount.adjusted() < _DIGITS or amount > MAX_AMOUNT:
            self.add(variable, value, "is beyond what Kubernetes can count: up to 2^63-1, in steps of 10^-9")
            return False
        return True

    def duration(self, variable: str, value: Any, low: datetime.timedelta, high: datetime.timedelta, bounds: str) -> datetime.timedelta | None:
        """A time such as C(30d) from C(low) to C(high); "not set" is right. Returns it if it is right."""
        try:
            found = duration(value)
        except ValueError:
            self.add(variable, value, "is not a duration like 30d, 12h, 10m or 40s")
            return None
        if found is None or low <= found <= high:
            return found
        self.add(variable, value, f"is not between {bounds}")
        return None

    def image(self, variable: str, value: Any) -> None:
        """A reference of an image, as container runtimes read it; "not set" is right."""
        if value and not (isinstance(value, str) and IMAGE.fullmatch(value)):
            problem = "is not a reference of an image: [host[:port]/]path[:tag][@sha256:digest], the path in lower case, without https:// and spaces"
            self.add(variable, value, problem)

    def mapping(self, variable: str, value: Any) -> bool:
        """A mapping, or not set."""
        good = value is None or isinstance(value, Mapping)
        if not good:
            self.add(variable, value, "is not a mapping")
        return good

    def sequence(self, variable: str, value: Any) -> bool:
        """A list, or not set."""
        good = value is None or isinstance(value, list)
        if not good:
            self.add(variable, value, "is not a list")
        return good

    def argument_text(self, variable: str, value: Any, name: str = "") -> None:
        """Text that can be an argument of a process, or as the value of the environment variable C(name)."""
        given = text(value)
        if "\0" in given:
            self.add(variable, Shape(value), "contains a NUL character, which ends a text in Linux")
        size = len((f"{name}={given}" if name else given).encode("utf-8", "replace"))
        if size > MAX_TEXT_BYTES:
            problem = f"has {size} bytes{' with its name' if name else ''}; the limit of Linux is {MAX_TEXT_BYTES}."
            self.add(variable, Shape(value), f"{problem} Put it into a ConfigMap or Secret and mount that")

    def labels(self, variable: str, value: Any, *, values: bool = True, own: bool = False) -> None:
        """Labels (C(values)) or annotations, none of them the collection's own unless C(own) is true."""
        if not self.mapping(variable, value):
            return
        size = sum(len((text(key) + text(entry)).encode("utf-8", "replace")) for key, entry in (value or {}).items())
        if size > MAX_ANNOTATIONS:
            self.add(variable, Shape(value), f"has {size} bytes; Kubernetes accepts {MAX_ANNOTATIONS} of all annotations together")
        for key, entry in (value or {}).items():
            head, slash, name = text(key).rpartition("/")
            if len(name) > 63 or not NAME.fullmatch(name) or (slash and not SUBDOMAIN.fullmatch(head)):
                self.add(f"{variable}[{key}]", entry, "has a key that Kubernetes rejects: [prefix/]name, name at most 63 characters")
            elif values and not own and OWN_MARKS.fullmatch(text(key)):
                self.add(f"{variable}[{key}]", entry, "replaces a label by which this collection finds its objects")
            if values and entry not in UNSET and (len(text(entry)) > 63 or not NAME.fullmatch(text(entry))):
                self.add(f"{variable}[{key}]", entry, "is not a label value: at most 63 letters, digits, -, _ and .")

    def annotations(self, variable: str, value: Any) -> None:
        """Annotations."""
        self.labels(variable, value, values=False)

    def selector(self, variable: str, value: Any) -> None:
        """Labels that select objects, which may be the collection's own."""
        self.labels(variable, value, own=True)

    def address(self, variable: str, value: Any) -> None:
        """A "host:port"; "not set" is right."""
        given, host = text(value), ""
        with contextlib.suppress(ValueError):
            host = split_address(given)[0]
        if "@" in given:
            self.add(variable, Shape(value), 'contains credentials or another @; Flower accepts "host:port"')
        elif "://" in given:
            self.add(variable, value, 'is a URL; Flower accepts "host:port"')
        elif given and not host:
            self.add(variable, value, 'is not "host:port" (an IPv6 address needs brackets)')
        elif given and not is_host(host):
            self.add(variable, value, "has a host that is neither an IP address nor a DNS name")

    def network(self, variable: str, value: Any) -> bool:
        """An IP network."""
        try:
            ipaddress.ip_network(text(value))
        except ValueError as exc:
            self.add(variable, value, f"is not a network ({exc})")
            return False
        return True

    def certificates(self, variable: str, value: Any) -> None:
        """PEM certificates and nothing else; "not set" is right."""
        if not value:
            return
        library.require()
        try:
            chain.read(text(value))
        except chain.ChainError as error:
            self.add(variable, Shape(value) if "PRIVATE KEY" in text(value) else text(value).strip()[:40], str(error))


#: Checks the value of a variable and adds what is wrong with it.
Check = Callable[[Problems, str, Any], object]


class Rule(NamedTuple):
    """How a variable fits others.

    Attributes:
        variable: its key.
        is_wrong: whether it does not fit; takes the spec.
        reason: what is wrong, and the remedy; C({name}) stands for another variable's value, which is a word from a list.
    """

    variable: str
    is_wrong: Callable[[Spec], Any]
    reason: str


def flag(key: str, default: bool = False) -> Callable[[Spec], bool]:
    """Whether a variable is true."""
    return lambda spec: boolean(spec.get(key, default))


def for_each(variables: Iterable[str], is_wrong: Callable[[Spec, str], Any], reason: str) -> list[Rule]:
    """The same rule for several variables; C(is_wrong) takes the key of one, too."""

    def rule(variable: str) -> Rule:
        return Rule(variable, lambda spec: is_wrong(spec, variable), reason)

    return [rule(variable) for variable in variables]


def given(check: Check) -> Check:
    """The check of a value that may be left out, or empty."""
    return lambda found, variable, value: check(found, variable, value) if value not in (None, "", [], {}, False) else None


def each(check: Check) -> Check:
    """The check of a list of such values."""

    def entries(found: Problems, variable: str, value: Any) -> None:
        for number, entry in enumerate(value or [] if found.sequence(variable, value) else []):
            check(found, f"{variable}[{number}]", entry)

    return entries


def number(low: int, high: int | None = None) -> Check:
    """The check of a whole number in a range."""
    return lambda found, variable, value: found.number(variable, value, low, high)


def choice(*words: str) -> Check:
    """The check of a word from a list."""
    return lambda found, variable, value: found.choice(variable, value, words)


def pattern(form: str, problem: str) -> Check:
    """The check of a text with a form, a regular expression."""
    compiled = re.compile(form)
    return lambda found, variable, value: None if compiled.fullmatch(text(value)) else found.add(variable, value, problem)


networks = each(Problems.network)
port = number(1, 65535)
