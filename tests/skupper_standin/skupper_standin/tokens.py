# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""AccessGrant and AccessToken (§2a)."""

from __future__ import annotations

import datetime
import http.client
import json
import re
import secrets
import ssl
import string
import urllib.parse

from .conditions import OK, PROCESSED, REDEEMED, RESOLVED, error, ok_or, pending
from .crds import API_VERSION
from .kube import ApiError, Object
from .space import Space

DEFAULT_WINDOW = datetime.timedelta(minutes=10)  # §1: the documentation says 15
UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
LETTERS = string.ascii_letters + string.digits


def duration(text: str) -> datetime.timedelta:
    """A duration as Go writes it ("1h30m"). Raises ValueError."""
    parts = re.findall(r"(\d+(?:\.\d+)?)(h|ms|us|µs|ns|m|s)", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f'time: invalid duration "{text}"')
    return datetime.timedelta(seconds=sum(float(number) * UNITS[unit] for number, unit in parts))


def parse_time(text: str) -> datetime.datetime:
    """A time as the API writes it."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def check_grants(space: Space, base_url: str, ca: str) -> None:
    """§1: what is written once stays (§2a.5: code and end), address and authority follow the grant server's."""
    for item in space.all("AccessGrant"):
        spec, status = item["spec"], space.status(item)
        if space.switches.grants == "off":
            status.set(PROCESSED, error("AccessGrants are not enabled"))
            continue
        if not spec.get("redemptionsAllowed"):
            space.replace({**item, "spec": {**spec, "redemptionsAllowed": 1}})  # comes back by the watch
            continue
        trouble = None
        if "code" not in status.value:
            made = "".join(secrets.choice(LETTERS) for _letter in range(24))
            status.field("code", spec.get("code") or made)
        if "expirationTime" not in status.value:
            try:
                window = duration(spec["expirationWindow"]) if spec.get("expirationWindow") else DEFAULT_WINDOW
                end = datetime.datetime.now(datetime.timezone.utc) + window
                status.field("expirationTime", end.strftime("%Y-%m-%dT%H:%M:%SZ"))
            except ValueError as invalid:
                trouble = f'Invalid duration "{spec["expirationWindow"]}": {invalid}'
        open_ = base_url and space.switches.grants != "no-address"
        status.field("url", f"{base_url}/{item['metadata']['uid']}" if open_ else "")
        status.field("ca", ca)
        status.set(PROCESSED, ok_or(trouble))
        status.set(RESOLVED, OK if open_ and ca else pending("Pending"))


def check_tokens(space: Space, *, resync: bool) -> None:
    """Redeem what was not redeemed yet.

    §2a.3: Redeemed is final. §2a.2: a failure is tried again at every resync for ever; the real one also tries at each
    event of the token, and its own word about the first failure is such an event.
    """
    if space.site is None:
        return
    for item in space.all("AccessToken"):
        uid, version = item["metadata"]["uid"], item["metadata"]["resourceVersion"]
        if space.status(item).is_true(REDEEMED) or not (resync or space.tried.get(uid) != version):
            continue
        space.tried[uid] = version
        trouble = _redeem(space, item)
        status = space.status(item)
        state = ok_or(trouble)
        status.condition(REDEEMED, state)
        status.field("redeemed", state.status)
        status.value.update(status=state.reason, message=state.message)
        space.log(f"{space.name}: AccessToken {item['metadata']['name']}: {state.message}")


def _redeem(space: Space, item: Object) -> str | None:
    """Returns what is wrong, or None when the Link is there."""
    try:
        answer = _post(space, item)
    except (OSError, http.client.HTTPException, ValueError) as failed:
        return f"Controller got error: {failed}"
    status, text = answer
    if status != 200:
        return f"Controller got failed response: {status} ({http.client.responses.get(status, '')}) {text.strip()}"
    try:
        secret, *links = [json.loads(part) for part in text.split("---\n") if part.strip()]
    except ValueError:
        return "Controller could not decode response"
    secret["metadata"]["ownerReferences"] = space.owner
    try:
        space.create(secret)
    except ApiError as refused:  # §2a.4
        return f"Controller could not create received secret: {refused.message}"
    for link in links:
        link["metadata"]["ownerReferences"] = space.owner
        if item["spec"].get("linkCost", 0) > 0:
            link["spec"]["cost"] = item["spec"]["linkCost"]
        try:
            space.create(link)
        except ApiError as refused:
            return f"Controller could not create received link: {refused.message}"
    return None


def _post(space: Space, item: Object) -> tuple[int, str]:
    """§2a: code in the body, names in headers, the authority of the spec alone is trusted.

    §2a.7: runs in the cluster's only loop, so an address that does not answer holds up all of its namespaces.
    """
    assert space.site is not None
    spec = item["spec"]
    url = urllib.parse.urlsplit(spec["url"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=spec["ca"])
    connection = http.client.HTTPSConnection(
        url.hostname or "", url.port or 443, timeout=space.switches.redeem_timeout, context=context
    )
    try:
        headers = {"name": item["metadata"]["name"], "subject": space.site["metadata"]["uid"]}
        connection.request("POST", url.path, spec["code"], headers)
        response = connection.getresponse()
        return response.status, response.read().decode(errors="replace")
    finally:
        connection.close()


def response_for(site: Object, secret_data: dict[str, str], name: str) -> str:
    """The answer to a redemption: a Secret and a Link for each group of the Site's endpoints."""
    groups: dict[str, list[Object]] = {}
    for endpoint in site["status"]["endpoints"]:
        groups.setdefault(endpoint.get("group", ""), []).append(endpoint)
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": name},
        "data": secret_data,
    }
    links = [
        {
            "apiVersion": API_VERSION,
            "kind": "Link",
            "metadata": {"name": name if len(groups) == 1 else f"{name}-{number}"},
            "spec": {"endpoints": endpoints, "tlsCredentials": name},
        }
        for number, endpoints in enumerate(groups.values(), 1)
    ]
    return "".join(f"---\n{json.dumps(one)}\n" for one in (secret, *links))
