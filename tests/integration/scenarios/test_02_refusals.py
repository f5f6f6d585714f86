# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What app code at the hub and a site can reach: their own calls, and nothing else of the SuperLink."""

from __future__ import annotations

import json

import pytest

DIAL = """\
import json, socket, sys
from concurrent.futures import ThreadPoolExecutor
def dial(host, port):
    try:
        socket.create_connection((host, port), 3).close()
        return "open"
    except OSError as error:
        return type(error).__name__
with ThreadPoolExecutor(16) as pool:
    print(json.dumps(list(pool.map(lambda call: dial(*call), json.loads(sys.argv[1])))))
"""
PATHS = """\
import json, ssl, urllib.request
context = ssl._create_unverified_context()
print(json.dumps(sorted(json.load(urllib.request.urlopen("https://localhost:8000/openapi.json", context=context))["paths"])))
"""


def disguises(path: str) -> list[str]:
    """Other spellings of a path that a server behind a filter may read as the path itself."""
    first, second, call = path.strip("/").split("/", 2)
    return [
        f"/{first}/{second}/%2e%2e/{second}/{call}",
        f"/{first}/fleet/%2e%2e/{second}/{call}",
        f"/{first}/runtime/%2E%2e/{second}/{call}",
        f"/{first}/fleet/../{second}/{call}",
        f"/{first}/fleet/pull-messages/..%2f..%2f{second}/{call}",
        f"/{first}/fleet/pull-messages/..;/..;/{second}/{call}",
        f"/{first}/fleet/pull-messages/%252e%252e/%252e%252e/{second}/{call}",
        f"//{first}/{second}/{call}",
        f"/{first}//{second}/{call}",
        f"/{first}/./{second}/{call}",
        f"/{first}/%63ontrol/{call}" if second == "control" else f"/{first}/%{ord(second[0]):02x}{second[1:]}/{call}",
        f"/%76{first[1:]}/{second}/{call}",
        f"{path}/",
        f"{path}%00",
        f"{path};x=/v1/fleet/pull-messages",
        f"{path}?/v1/fleet/pull-messages",
        f"{path}#/v1/fleet/pull-messages",
        path.upper(),
        path.replace("/", "\\"),
    ]


def knock(fed, context, pod, container, host, port, paths, identity=None):
    """Path -> code, or the error's text."""
    common = {"host": host, "port": int(port), "headers": {"Content-Type": "application/x-nonsense"}}
    answers = fed.call([{**common, "path": path} for path in paths], identity, where=(context, pod, container))
    return {path: told(answer) for path, answer in zip(paths, answers)}


def told(answer):
    """The code, or why there is none."""
    if "Your browser sent an invalid request" in answer["text"]:
        return "malformed"  # HAProxy's own message: the request was not forwarded
    return answer["code"] or answer["text"]


def dial(fed, context, pod, container, targets):
    """(Host, port) -> `open`, or the error's name."""
    answers = fed.python(context, pod, container, DIAL, json.dumps([list(target) for target in targets]))
    return dict(zip(targets, json.loads(answers)))


@pytest.fixture(scope="module")
def paths(federation):
    """All paths of the SuperLink, asked of itself, so that a new release's are among them."""
    if not federation.settled:
        federation.site()
    found = json.loads(federation.python("hub", "superlink-0", "superlink", PATHS))
    parts = {
        part: [path for path in found if path.startswith(f"/v1/{part}/")] for part in ("control", "fleet", "runtime")
    }
    assert all(len(some) > 5 for some in parts.values()), found
    parts["other"] = [
        "/health",
        "/docs",
        "/redoc",
        "/openapi.json",
        "/",
        *set(found) - {p for some in parts.values() for p in some},
    ]
    return parts


@pytest.fixture
def serverapp(fed):
    """Name of the ServerApp's pod."""
    (name,) = fed.pods("hub", name="serverapp")
    return name


def disguised(paths, *parts):
    """Disguises of one path of each part."""
    return [text for part in parts for text in disguises(paths[part][0])]


def passed(answers):
    """What was not answered with 503; a path that is none by the rules of HTTP may be called so."""
    strange = {path for path in answers if "#" in path or "\\" in path}
    return {
        path: code for path, code in answers.items() if code != 503 and not (path in strange and code == "malformed")
    }


def test_serverapp_makes_runtime_calls_alone(fed, paths, serverapp):
    forbidden = [*paths["control"], *paths["fleet"], *paths["other"], *disguised(paths, "control", "fleet")]
    allowed = paths["runtime"][0]
    answers = knock(fed, "hub", serverapp, "superexec", "superlink-runtime", 9091, [*forbidden, allowed])
    code = answers.pop(allowed)
    assert code in range(400, 500), f"{allowed} did not get to the SuperLink: {code}"
    assert not passed(answers)


def test_serverapp_cannot_go_round_the_gateway(fed, serverapp):
    (pod,) = fed.pods("hub", name="superlink").values()
    address = pod["status"]["podIP"]
    seen = dial(fed, "hub", serverapp, "superexec", [(address, 8000), (address, 9091), ("superlink-runtime", 8000)])
    assert seen.pop((address, 9091)) == "open", seen
    assert "open" not in seen.values(), seen


@pytest.mark.parametrize("context, pool", [("site-a", "cpu"), ("site-b", "gpu")])
@pytest.mark.parametrize("way", ["sidecar", "node port"])
def test_site_makes_fleet_calls_alone(fed, paths, context, pool, way):
    pod = next(name for name in fed.pods(context) if pool in name)
    publication = fed.hub.get("v1", "ConfigMap", "flower-federation", fed.namespace)["data"]
    host, _colon, port = ("localhost:9443" if way == "sidecar" else publication["address"]).rpartition(":")
    forbidden = [*paths["control"], *paths["runtime"], *paths["other"], *disguised(paths, "control", "runtime")]
    forbidden += ["/v1/fleet/register-node", "/v1/fleet/unregister-node"]
    allowed = "/v1/fleet/pull-messages"
    # Not even who has the site's client certificate gets further than the sidecar does.
    identity = None if way == "sidecar" else fed.identity(context)
    answers = knock(fed, context, pod, "supernode", host, port, [*forbidden, allowed], identity)
    code = answers.pop(allowed)
    assert code in range(400, 500), f"{allowed} did not get to the SuperLink: {code}"
    assert not passed(answers)


def test_site_cannot_reach_other_ports(fed):
    (superlink,) = fed.pods("hub", name="superlink").values()
    publication = fed.hub.get("v1", "ConfigMap", "flower-federation", fed.namespace)["data"]
    node, _colon, port = publication["address"].rpartition(":")
    services = fed.hub.list("v1", "Service", fed.namespace)
    assert {entry.get("nodePort") for service in services for entry in service["spec"]["ports"]} <= {int(port), None}
    closed = [(superlink["status"]["podIP"], number) for number in (8000, 8990, 8404, 9091, 9092)]
    seen = dial(fed, "site-a", next(iter(fed.pods("site-a"))), "supernode", [*closed, (node, int(port))])
    assert seen.pop((node, int(port))) == "open", seen
    assert "open" not in seen.values(), seen


def test_pods_hold_no_rights_of_the_cluster(fed, serverapp):
    program = "import os; print(os.path.exists('/var/run/secrets/kubernetes.io'))"
    for context, pod, container in [
        ("hub", "superlink-0", "superlink"),
        ("hub", serverapp, "superexec"),
        ("site-a", next(iter(fed.pods("site-a"))), "supernode"),
    ]:
        assert fed.python(context, pod, container, program).strip() == "False", f"{pod}/{container} has a token"
