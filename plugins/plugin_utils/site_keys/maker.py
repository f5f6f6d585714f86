# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Program of the job that creates a site's keys inside the site's cluster (C(supernode_key_source: site)).

It runs in the SuperNode's image with nothing but Python and C(cryptography): C(python -m plugin_utils.site_keys.maker). The
files that it imports are shipped with it (C(shipped.py)). It reads C(request.json), changes the Secrets as requested and
publishes their public keys. It prints names of objects only, and exits with 1 and one line when it cannot continue.

Shape of the request::

    {"federation": "flower", "namespace": "flower", "dead": ["SHA256:…"], "client": "site-a", "listener": "",
     "pools": [{"name": "cpu", "names": ["0", "1"], "offset": 0}],   what is wanted
     "drop": {"cpu": ["7"], "old": ["0"]},                           keys that are no longer needed
     "renew": {"supernode-superexec": "1a2b"},                       shared secrets to recreate -> mark of the request
     "owner": {"apiVersion": "v1", "kind": "ConfigMap", …},          the owner of all Secrets, see C(key_job.OWNER); its uid is read if it is missing
     "binding": {"site": "site-a", …},                               what the answer is bound to, see C(reply.py); none, and it is not sealed
     "secrets": ["supernode-cpu-keys", …]}                           all Secrets that it may touch
"""

from __future__ import annotations

import json
import os
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..base.errors import ClusterError
from ..base.labels import MANAGER
from ..base.names import CLIENT_KEY, PUBLIC_KEYS, SITE, keys_secret
from . import keys, public, reply

TOKEN_FOLDER = Path("/api")  # token and ca.crt of the projected volume
REQUEST = Path("request.json")
TRUST = Path("/trust/ca.crt")  # of a site that gives no access: the CA bundle that its SuperNodes trust
# The way to the API server may open a moment after the pod has started (network policies), or it may be restarting.
PATIENCE = 30.0
PAUSE = 1.0
# Another writer of the same Secrets is a person or a run with another key source: retry, with a limit.
ATTEMPTS = 5

Object = dict[str, Any]


class Refused(ClusterError):
    """The API server refused a request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Decision:
    """What to do.

    Attributes:
        writes: Secrets to write, complete, with the version to replace.
        deletes: live Secrets that would be empty.
        client_request: request for the site's client certificate; empty when it needs none.
        reasons: why, sentences.
    """

    writes: list[Object] = field(default_factory=list)
    deletes: list[Object] = field(default_factory=list)
    client_request: str = ""
    reasons: list[str] = field(default_factory=list)


def decide(request: Mapping[str, Any], live: Mapping[str, Object]) -> Decision:
    """The changes of the live Secrets (name -> Secret) for a request. Pure but for randomness."""
    federation, namespace = request["federation"], request["namespace"]
    pools = [keys.Pool(**pool) for pool in request["pools"]]
    plan = keys.plan(
        federation,
        namespace,
        pools,
        live,
        request["dead"],
        request["client"],
        listener=request["listener"],
        source=SITE,
        renew=request["renew"],
    )
    result = Decision(client_request=plan.client_request, reasons=plan.reasons)
    wanted = {secret["metadata"]["name"]: secret for secret in plan.secrets}
    for pool, names in request["drop"].items():
        name = keys_secret(pool)
        there = wanted.get(name) or live.get(name)
        if there is None:
            continue
        left = keys.without(federation, namespace, there, names)
        if left["data"] or pool in [one.name for one in pools]:
            wanted[name] = left
        else:
            wanted.pop(name, None)
            result.deletes += [live[name]] if name in live else []
        result.reasons.append(f"{name}: dropped {', '.join(names)}")
    gone = {there["metadata"]["name"] for there in result.deletes}
    for name, there in live.items():
        if name not in wanted and name not in gone and keys.source_of(there) == SITE and not _belongs(there, request):
            # Kubernetes is about to delete it, together with an owner that was deleted.
            wanted[name] = keys.without(federation, namespace, there, ())
            result.reasons.append(f"{name}: has another owner now")
    for name, secret in wanted.items():
        secret["metadata"]["ownerReferences"] = [request["owner"]]
        if name in live:  # so that no change in between is lost
            secret["metadata"]["resourceVersion"] = live[name]["metadata"]["resourceVersion"]
        result.writes.append(secret)
    return result


def _belongs(there: Object, request: Mapping[str, Any]) -> bool:
    return request["owner"]["uid"] in [one["uid"] for one in there["metadata"].get("ownerReferences") or []]


class Api:
    """The API server of the cluster in which this runs.

    Args:
        call: (method, path, body, content type) -> status and parsed answer; raises OSError when there is no answer.
        namespace: the only one that is touched.
        pause: sleeps for some seconds.
    """

    def __init__(
        self,
        call: Callable[[str, str, Object | None, str], tuple[int, Object]],
        namespace: str,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.call = call
        self.base = f"/api/v1/namespaces/{namespace}"
        self.pause = pause

    def get(self, plural: str, name: str) -> Object | None:
        """An object, or None."""
        status, answer = self._ask("GET", f"{self.base}/{plural}/{name}")
        if status == 404:
            return None
        return self._good(status, answer)

    def apply(self, plural: str, wanted: Mapping[str, Any]) -> Object:
        """Write an object by server-side apply, because RBAC can confine its creation of objects to names.

        Raises:
            Refused: with status 409 when the object is no longer the version that was read.
        """
        path = f"{self.base}/{plural}/{wanted['metadata']['name']}?fieldManager={MANAGER}&force=true"
        return self._good(*self._ask("PATCH", path, dict(wanted), "application/apply-patch+yaml"))

    def delete(self, plural: str, there: Mapping[str, Any]) -> None:
        """Delete this very object."""
        meta = there["metadata"]
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": meta["uid"]}}
        status, answer = self._ask("DELETE", f"{self.base}/{plural}/{meta['name']}", options)
        if status != 404:
            self._good(status, answer)

    def _ask(
        self, method: str, path: str, body: Object | None = None, content_type: str = "application/json"
    ) -> tuple[int, Object]:
        deadline = time.monotonic() + PATIENCE
        while True:
            late = time.monotonic() > deadline
            try:
                status, answer = self.call(method, path, body, content_type)
            except OSError as error:
                if late:
                    raise ClusterError(
                        f"the API server does not answer from inside the cluster ({error}); "
                        "does a network policy keep the pod from it?"
                    ) from error
            else:
                if late or (status != 429 and status < 500):
                    return status, answer
            self.pause(PAUSE)

    @staticmethod
    def _good(status: int, answer: Object) -> Object:
        if status >= 300:
            raise Refused(status, str(answer.get("message") or f"HTTP status {status}"))
        return answer


def work(request: Mapping[str, Any], api: Api) -> list[str]:
    """Change the Secrets as requested and publish the public keys; returns what was done, sentences."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _once(request, api)
        except Refused as error:
            if error.status != 409 or attempt == ATTEMPTS:
                raise
    raise AssertionError("not reached")


def _with_owner(request: Mapping[str, Any], api: Api) -> Mapping[str, Any]:
    """The request with the uid of the owner, which who wrote a file for this cluster cannot know."""
    owner = request["owner"]
    if "uid" in owner:
        return request
    there = api.get("configmaps", owner["name"])
    if there is None:
        raise ClusterError(f"ConfigMap {request['namespace']}/{owner['name']} does not exist; apply the whole bundle")
    return {**request, "owner": {**owner, "uid": there["metadata"]["uid"]}}


def _once(request: Mapping[str, Any], api: Api) -> list[str]:
    request = _with_owner(request, api)
    live, lost = _read(request, api)
    decision = decide(request, live)
    for secret in decision.writes:
        live[secret["metadata"]["name"]] = api.apply("secrets", secret)
    for secret in decision.deletes:
        api.delete("secrets", secret)
        del live[secret["metadata"]["name"]]
    # A Secret from the control node, of a deleted pool, is not reported by the site.
    own = {name: there for name, there in live.items() if keys.source_of(there) == SITE}
    reported = public.record(
        request["federation"], request["namespace"], own, request["client"], decision.client_request
    )
    told = []
    if request.get("binding"):
        trust = TRUST.read_bytes() if TRUST.exists() else b""
        told = [f"fingerprint of the reply: {reply.seal(reported, request['binding'], trust, own)}"]
    api.apply("configmaps", reported)
    return decision.reasons + lost + told


def _read(request: Mapping[str, Any], api: Api) -> tuple[dict[str, Object], list[str]]:
    """The existing Secrets, and sentences on those that are no longer ours."""
    needed = {*map(keys_secret, (pool["name"] for pool in request["pools"])), *keys.SHARED, CLIENT_KEY}
    live, lost = {}, []
    for name in request["secrets"]:
        try:
            there = api.get("secrets", name)
        except Refused as error:
            if error.status != 403 or name in needed:
                raise
            # Rights from the site's administrators follow the pools. It is deleted with its owner.
            lost.append(f"{name}: is not changed ({error.message})")
            continue
        if there is not None:
            live[name] = there
    return live, lost


def connect() -> Callable[[str, str, Object | None, str], tuple[int, Object]]:
    """Access to the API server as configured in every pod, with the pod's token."""
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    context = ssl.create_default_context(cafile=str(TOKEN_FOLDER / "ca.crt"))
    # No proxy: the API server of the pod's own cluster is not behind one.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))

    def call(method: str, path: str, body: Object | None, content_type: str) -> tuple[int, Object]:
        request = urllib.request.Request(server + path, method=method)
        request.add_header("Authorization", "Bearer " + (TOKEN_FOLDER / "token").read_text().strip())
        request.add_header("Accept", "application/json")
        data = None
        if body is not None:
            data = json.dumps(body).encode("ascii")
            request.add_header("Content-Type", content_type)
        try:
            with opener.open(request, data, timeout=10) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:  # an answer, too
            text = error.read().decode("utf-8", "replace")
            try:
                return error.code, dict(json.loads(text))
            except ValueError:
                return error.code, {"message": text[:300]}

    return call


def main() -> int:
    """Exit code of the program."""
    request = json.loads(REQUEST.read_text())
    try:
        for sentence in work(request, Api(connect(), request["namespace"])):
            print(sentence)
    except ClusterError as error:
        print(error.message)
        return 1
    print(f"{PUBLIC_KEYS}: published")
    return 0


if __name__ == "__main__":
    sys.exit(main())
