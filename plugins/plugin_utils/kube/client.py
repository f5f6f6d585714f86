# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only connection to an API server: kept alive, with errors that people can act on.

C(connect(auth)) accepts the auth options of kubernetes.core and gives a C(Cluster). Nothing in it knows of
Ansible. What it returns is plain JSON data.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import ssl
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import partial
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from ..base import foreign_data, kinds
from .access_fields import with_credentials
from .api_errors import (
    ERRORS,
    ApiError,
    AuthError,
    NotFound,
    NotServed,
    TooLarge,
    Unauthorized,
    Unavailable,
    Unreachable,
    explain,
    nothing_sent,
    one_line,
    status_of,
    worth_repeating,
)
from .auth import Access, resolve
from .streams import PROTOCOLS, Exec, ExecResult, limit_answers, limited_channel

try:
    import urllib3
    import websocket
    from urllib3._collections import HTTPHeaderDict  # its place in urllib3 1 and 2
    from urllib3._version import __version__ as _version
    from urllib3.exceptions import HTTPError

    _URLLIB3_1 = _version.startswith("1.")
except ImportError:  # reported by resolve()
    pass

#: The one field manager of this collection.
FIELD_MANAGER = "federated.flower"
USER_AGENT = "federated.flower"
APPLY_PATCH = "application/apply-patch+yaml"  # JSON is YAML; API servers before 1.33 accept no other name

# Cluster has a method named list; inside the class the builtin is reached by these names.
Objects = list[dict[str, Any]]
Answers = list[bool]
_Lost = TypeVar("_Lost", Unreachable, Unavailable)

_PAGE, _PAGES = 500, 1000  # objects per LIST request, and requests for one list
_LISTED = 192 * 1024 * 1024  # bytes of memory, about, for one list
_LIST_TIMES = 4  # the time for a list, in that for a request
_LOG = 1024 * 1024  # bytes of a container's log
_WARNINGS = 50
_PIECE = 64 * 1024
_CONNECT_TIMEOUT = 10.0  # seconds for TCP and TLS
_EXEC_TIMEOUT = 60.0  # seconds for a command, or as long as for one answer
_LEAST = 0.1  # seconds that an attempt has at least
_IDLE = 60.0  # seconds; firewalls and load balancers forget a connection that was idle for longer, some without closing it
_ATTEMPTS = 3  # at an API server that has not answered yet
_BACKOFF = (0.3, 1.0, 2.0, 4.0)  # seconds before the second attempt, the third …; the last one before each further one
_RESTARTING = (502, 503, 504)  # of an API server that starts or has too much to do, or of what is before it
_REFUSED = 429  # nothing was carried out
_SWITCHED = 101
_NO_LEADER = 500  # what etcd answers during an election comes as this one
_REVIEWS = ("/apis/authentication.k8s.io/", "/apis/authorization.k8s.io/")  # a POST there asks a question
_ANONYMOUS = "system:anonymous"  # what API servers call a client without credentials
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile("[\x7f-\uffff]")


@dataclass(frozen=True)
class Resource:
    """How objects of one kind are addressed."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool
    verbs: tuple[str, ...] = ()

    def path(self, namespace: str | None = None, name: str | None = None) -> str:
        """URL path of the collection, or of one object. Without C(namespace): the collection over all namespaces."""
        parts = [f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"]
        if self.namespaced and namespace:
            parts.append(f"namespaces/{quote(namespace, safe='')}")
        parts.append(self.plural)
        if name:
            parts.append(quote(name, safe=""))
        return "/".join(parts)


def encoded(body: Any) -> bytes:
    """JSON that is YAML as well, since API servers read the body of a server-side apply as YAML.

    YAML has no surrogate pairs, by which JSON escapes characters beyond U+FFFF: they are not escaped. The others that
    are not ASCII are escaped, because YAML treats some of them (U+0085, U+2028) as line ends.
    """
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode()


def connect(auth: Mapping[str, Any], *, timeout: float = 30, retry_seconds: float = 0) -> Cluster:
    """Resolve C(auth) (option names of kubernetes.core) and return a C(Cluster).

    No request is sent yet. C(timeout): seconds for one answer. C(retry_seconds): seconds for all attempts of a request together, where more than that.
    Raises C(AuthError) when the options lead nowhere.
    """
    return Cluster(resolve(auth), auth, timeout=timeout, retry_seconds=retry_seconds)


class Cluster:
    """One API server over one kept-alive connection. Not for use by several threads."""

    timeout = retry_seconds = 30.0
    #: About how many bytes one list may take in memory.
    max_list_bytes = _LISTED
    #: About how many bytes of memory all answers so far have taken.
    memory = 0

    def __init__(self, access: Access, auth: Mapping[str, Any] | None = None, *, timeout: float = 30, retry_seconds: float = 0) -> None:
        self.name = access.name
        self.server = access.server
        self.timeout, self.retry_seconds = timeout, max(timeout, retry_seconds)
        #: HTTP requests sent so far.
        self.requests = 0
        #: What the API server warned of (deprecated versions, Pod Security …), each once.
        self.warnings: dict[str, None] = {}
        self._answered = False
        self._clock: tuple[float, float, str] | None = None  # quickest answer so far: seconds it took, when, its Date
        self._used = time.monotonic()
        self._auth = dict(auth or {})
        self._kinds: dict[str, dict[str, Resource]] = {}
        self._use(access)

    def _use(self, access: Access) -> None:
        self._access = access
        options: dict[str, Any] = {"num_pools": 1, "maxsize": 1}
        if access.tls is not None:
            self._verifies = access.tls.verify_mode != ssl.CERT_NONE
            if _URLLIB3_1 and self._verifies:
                # it compares the name itself: for an address, it would not set the name in the context
                access.tls.check_hostname = False
                options["cert_reqs"] = "CERT_REQUIRED"
            options["ssl_context"] = access.tls
            if access.tls_server_name:
                options["server_hostname"] = access.tls_server_name
            if not self._verifies:
                options["cert_reqs"] = "CERT_NONE"
                options["assert_hostname"] = False
                urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # it was requested
        if access.proxy is None:
            self._pool = urllib3.PoolManager(**options)
        elif access.proxy.startswith("socks"):
            self._pool = _socks_manager(with_credentials(access.proxy, access.proxy_credentials), options)
        else:
            self._pool = urllib3.ProxyManager(access.proxy, proxy_headers=access.proxy_headers, **options)
        limit_answers(self._pool)
        self._headers = HTTPHeaderDict({"Accept": "application/json", "User-Agent": USER_AGENT})
        for name, value in access.headers:
            self._headers.add(name, value)

    def _renew(self) -> None:
        self.close()
        self._use(resolve(self._auth))

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. The object opens a new one if it is used again."""
        self._pool.clear()

    # ---- one request -------------------------------------------------------------------------------------------------

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        most: float = math.inf,
    ) -> dict[str, Any]:
        """Send one request; return the JSON answer, which may take about C(most) bytes of memory.

        Connection errors, 502, 503 and 504 are retried for GET, for reviews of rights and for server-side apply, which may be repeated without harm, and
        500 for GET; each attempt has C(timeout) seconds. Any method is retried while nothing has been sent (no connection), and after 429. An API server
        that has answered before is tried again as long as there is time, since it may restart; any other one three times. A Retry-After is obeyed if
        there is time for it. A 401 renews the credentials once if they come from an exec plugin, a token file or an auth provider.

        Raises C(Unreachable), C(Unauthorized) or an C(ApiError).
        """
        response, answer = self._send(method, path, query, body, content_type)
        return self._document(method, path, response, answer, most)

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        accept: str = "",
    ) -> tuple[Any, bytes]:
        """The answer to a request that the API server accepts, see C(request), and its content."""
        url = self.server + path
        if query:
            url += "?" + urlencode(query, doseq=True)
        data = None if body is None else encoded(body)
        asks = method == "POST" and path.startswith(_REVIEWS)
        repeatable = method == "GET" or asks or (method == "PATCH" and content_type == APPLY_PATCH)
        deadline = time.monotonic() + self.retry_seconds
        renewed = not self._access.renewable
        attempt = 0
        while True:
            attempt += 1
            headers = self._headers.copy()
            if data is not None:
                headers["Content-Type"] = content_type
            if accept:
                headers["Accept"] = accept
            now = time.monotonic()
            if now - self._used > _IDLE:
                self.close()
            self._used = now
            left = min(self.timeout, max(deadline - now, _LEAST))
            self.requests += 1
            sent = time.time()
            try:
                response = self._pool.request(
                    method,
                    url,
                    body=data,
                    headers=headers,
                    retries=False,
                    redirect=False,
                    timeout=urllib3.Timeout(total=left, connect=min(_CONNECT_TIMEOUT, left)),
                    preload_content=False,
                    decode_content=False,  # nothing asks for compression
                    enforce_content_length=True,
                )
                answer = b"".join(iter(partial(response.read, _PIECE), b""))
                response.release_conn()
            except foreign_data.LimitExceeded as error:
                self.close()
                raise self._too_large(method, path, error) from error
            except (HTTPError, OSError) as error:
                if worth_repeating(error) and (repeatable or nothing_sent(error)) and self._pauses(attempt, deadline):
                    continue
                raise self._lost(self._unreachable(error), repeatable) from error
            status = response.status
            self._note_clock(sent, response.headers.get("Date"))
            if "Warning" in response.headers:
                self._note_warnings(response.headers)
            if status < 300:
                self._answered = True
                return response, answer
            if (
                (status == _REFUSED or (status in _RESTARTING and repeatable) or (status == _NO_LEADER and method == "GET"))
                and self._pauses(attempt, deadline, response.headers.get("Retry-After"))
            ):
                continue
            if status == 401:
                if not renewed:
                    renewed = True
                    before = time.monotonic()
                    self._renew()
                    deadline += time.monotonic() - before  # plugins have their own limit
                    continue
                raise self._unauthorized()
            failed = self._api_error(method, path, status, answer)
            raise self._lost(failed, repeatable) if isinstance(failed, Unavailable) else failed

    def _lost(self, error: _Lost, repeatable: bool) -> _Lost:
        """An API server that did not answer for as long as it was tried is not tried that long again until it does."""
        self._answered, error.unsure = False, not repeatable
        return error

    def _pauses(self, attempt: int, deadline: float, retry_after: str | None = None) -> bool:
        """Wait before the next attempt; False, at once, if there is none or it would be too late."""
        if attempt >= _ATTEMPTS and not self._answered:
            return False
        pause = _BACKOFF[min(attempt, len(_BACKOFF)) - 1]
        with contextlib.suppress(ValueError):  # it may be no number
            pause = max(pause, float(retry_after or 0))
        if time.monotonic() + pause >= deadline:
            return False
        time.sleep(pause)
        return True

    def _too_large(self, method: str, path: str, error: foreign_data.LimitExceeded) -> TooLarge:
        return TooLarge(f"{self.name}: {method} {path}: the answer of {self.server} is not read, because {error}. Check that it is an API server.")

    def _document(self, method: str, path: str, response: Any, answer: bytes, most: float) -> dict[str, Any]:
        """The JSON object in an answer. Portals and proxies answer with their own pages and status 200."""
        if not answer:
            return {}
        memory = foreign_data.memory_bytes(answer)
        self.memory += memory
        try:
            if memory > most:
                raise foreign_data.LimitExceeded("it takes too much memory")
            document = foreign_data.read_json(answer)
        except foreign_data.LimitExceeded as error:
            raise self._too_large(method, path, error) from error
        except ValueError:
            document = None
        if not isinstance(document, dict):
            kind = response.headers.get("Content-Type") or "no content type"
            raise Unreachable(
                f"{self.name}: {method} {path}: what answers at {self.server}{self._through} is not an API server: {kind} instead of "
                "a JSON object. Check the address, and that no portal, proxy or load balancer answers in its place."
            )
        return document

    def _note_clock(self, sent: float, date: str | None) -> None:
        took = time.time() - sent
        if date and (self._clock is None or took < self._clock[0]):
            self._clock = (took, sent + took / 2, date)

    @property
    def skew(self) -> float | None:
        """Seconds by which the API server's clock is ahead of this machine's, good to about a second.

        From the answers so far (HTTP's Date, which counts whole seconds); None while there is none.
        """
        if self._clock is None:
            return None
        _took, at, date = self._clock
        try:
            shown = parsedate_to_datetime(date)
        except ValueError:  # some proxy's idea of a date
            return None
        return shown.timestamp() + 0.5 - at

    def _note_warnings(self, headers: Any) -> None:
        for header in headers.getlist("Warning"):
            for text in _WARNING.findall(header):
                if len(self.warnings) < _WARNINGS:
                    self.warnings[foreign_data.cleaned(text.replace('\\"', '"'))] = None

    def _api_error(self, method: str, path: str, status: int, data: bytes) -> ApiError:
        body = status_of(data)
        kind = ERRORS.get(status, ApiError)
        if status == 403 and not self._access.identified and _ANONYMOUS in str(body.get("message")):
            raise self._nobody()
        unknown = any(words in body["message"] for words in ("could not find the requested resource", "page not found"))
        if status == 404 and unknown and not body.get("details", {}).get("name"):
            kind = NotServed
        return kind(self.name, f"{method} {path}", status, body)

    def _nobody(self) -> Unauthorized:
        return Unauthorized(
            f"{self.name}: {self._access.source} has no usable credentials, so the API server {self.server} treats us as "
            f"{_ANONYMOUS}. Add to the context's user a token, tokenFile, exec plugin or client certificate with its key, or set "
            "api_key in flower_auth."
        )

    def _unauthorized(self) -> Unauthorized:
        if not self._access.identified:
            return self._nobody()
        return Unauthorized(
            f"{self.name}: the API server {self.server} does not accept the credentials of "
            f"{self._access.source} (401). "
            "The token or certificate may have expired, or the context may refer to the user "
            "of another cluster. Check with: kubectl auth whoami"
        )

    def _unreachable(self, error: BaseException) -> Unreachable:
        why = explain(error, f"the API server {self.server}", self._through, urlsplit(self.server).hostname or "", self.timeout)
        return Unreachable(f"{self.name}: {why}")

    @property
    def _through(self) -> str:
        return f" through the proxy {self._access.proxy}" if self._access.proxy else ""

    # ---- kinds -------------------------------------------------------------------------------------------------------

    def resource(self, api_version: str, kind: str) -> Resource:
        """How objects of this kind are addressed. Kinds of Kubernetes itself cost no request, others one per group.

        Raises C(NotServed) when the API server has no such kind.
        """
        known = kinds.builtin(api_version, kind)
        if known is not None:
            return Resource(api_version, kind, known[0], known[1])
        if kind not in self._kinds.get(api_version, {}):  # asked again each time: its definition may be created meanwhile
            self._kinds[api_version] = self._discover(api_version)
        if kind not in self._kinds[api_version]:
            message = f"the API server does not serve {kind} ({api_version}); check that its CustomResourceDefinition is installed"
            raise NotServed(self.name, f"discover {api_version}", 404, {"reason": "NotFound", "message": message})
        return self._kinds[api_version][kind]

    def served(self, group: str, kind: str) -> Resource | None:
        """How objects of a kind are addressed in the version that the API server prefers, of those that have it: stable ones first, then the newest.

        None where no version has it.
        """
        try:
            answer = self.request("GET", f"/apis/{group}")
        except NotFound:
            return None
        listed = [answer.get("preferredVersion") or {}, *(answer.get("versions") or [])]
        for version in dict.fromkeys(one["groupVersion"] for one in listed if "groupVersion" in one):
            try:
                return self.resource(version, kind)
            except NotServed:
                continue
        return None

    def resources(self, api_version: str) -> Iterable[Resource]:
        """All kinds of a group and version that the API server has."""
        self._kinds[api_version] = self._discover(api_version)
        return self._kinds[api_version].values()

    def _discover(self, api_version: str) -> dict[str, Resource]:
        path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        try:
            answer = self.request("GET", path)
        except NotFound:
            return {}
        return {
            item["kind"]: Resource(api_version, item["kind"], item["name"], item["namespaced"], tuple(item["verbs"]))
            for item in answer.get("resources") or []
            if "/" not in item["name"]
        }

    # ---- objects -----------------------------------------------------------------------------------------------------

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> dict[str, Any] | None:
        """The object, or None if there is none (C(NotServed) if the kind itself is unknown)."""
        return self._if_found("GET", self.resource(api_version, kind).path(namespace, name))

    def _if_found(self, method: str, path: str, **options: Any) -> dict[str, Any] | None:
        try:
            return self.request(method, path, **options)
        except NotFound as error:
            if isinstance(error, NotServed):
                raise
            return None

    def list(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        *,
        labels: str | None = None,
        fields: str | None = None,
    ) -> Objects:
        """Objects by label and field selector. C(apiVersion) and C(kind) are filled in: lists leave them out.

        A list comes in pages. When the server has dropped the first one's state before the last is read (410, "Resource
        Expired" in the API conventions), the list starts again.
        """
        resource = self.resource(api_version, kind)
        query: dict[str, Any] = {"limit": _PAGE}
        if labels:
            query["labelSelector"] = labels
        if fields:
            query["fieldSelector"] = fields
        found: Objects = []
        begun = 1
        seconds = max(_LIST_TIMES * self.timeout, self.retry_seconds)
        until, before = time.monotonic() + seconds, self.memory
        for _page in range(_PAGES):
            left = self.max_list_bytes - (self.memory - before)
            if time.monotonic() > until or left < 0:
                break
            try:
                answer = self.request("GET", resource.path(namespace), query=query, most=left)
            except TooLarge:
                if query["limit"] == 1:
                    raise
                query["limit"] = max(query["limit"] // 8, 1)  # its objects are large
                continue
            except ApiError as error:
                if error.status != 410 or begun == _ATTEMPTS or not query.pop("continue", ""):
                    raise
                begun += 1
                found.clear()
                continue
            for item in answer.get("items") or []:
                item["apiVersion"] = api_version
                item["kind"] = kind
                found.append(item)
            token = (answer.get("metadata") or {}).get("continue")
            if not token:
                return found
            query["continue"] = token
        raise TooLarge(
            f"{self.name}: the list of {resource.plural} is not read to its end, because it takes more than {_PAGES} requests, "
            f"{seconds:g} s, or {self.max_list_bytes >> 20} MiB of memory: {len(found)} objects were read. Delete those that are not needed."
        )

    def create(self, obj: Mapping[str, Any], *, dry_run: bool = False) -> dict[str, Any]:
        """POST. Raises C(Conflict) (reason C(AlreadyExists)) if the name is taken."""
        resource, namespace, _name = self._address(obj)
        return self.request("POST", resource.path(namespace), query=_write_query(dry_run), body=obj)

    def replace(self, obj: Mapping[str, Any]) -> dict[str, Any]:
        """PUT. With C(metadata.resourceVersion) it raises C(Conflict) if someone was faster."""
        resource, namespace, name = self._address(obj)
        return self.request("PUT", resource.path(namespace, name), query=_write_query(False), body=obj)

    def apply(self, obj: Mapping[str, Any], *, dry_run: bool = False, force: bool = True) -> dict[str, Any]:
        """Server-side apply as C(FIELD_MANAGER); returns the object as the API server has it now."""
        resource, namespace, name = self._address(obj)
        query = _write_query(dry_run) | {"force": "true" if force else "false"}
        return self.request("PATCH", resource.path(namespace, name), query=query, body=obj, content_type=APPLY_PATCH)

    def patch(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None,
        body: Any,
        *,
        content_type: str = "application/merge-patch+json",
    ) -> dict[str, Any]:
        """PATCH with a merge, strategic-merge or JSON patch."""
        resource = self.resource(api_version, kind)
        path = resource.path(namespace, name)
        return self.request("PATCH", path, query=_write_query(False), body=body, content_type=content_type)

    def delete(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None = None,
        *,
        dry_run: bool = False,
        propagation: str = "Foreground",
        uid: str | None = None,
        version: str | None = None,
    ) -> dict[str, Any] | None:
        """DELETE; None if there was no such object.

        C(uid): only that very object; C(version): only as long as it has this resourceVersion (else C(Conflict)).
        """
        resource = self.resource(api_version, kind)
        body: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation}
        conditions = {name: value for name, value in (("uid", uid), ("resourceVersion", version)) if value}
        if conditions:
            body["preconditions"] = conditions
        if dry_run:
            body["dryRun"] = ["All"]
        return self._if_found("DELETE", resource.path(namespace, name), body=body)

    def access_review(self, checks: Sequence[Mapping[str, Any]]) -> Answers:
        """Access reviews, one answer per check (keys verb, group, resource, subresource, namespace, name)."""
        answers = []
        for check in checks:
            body = {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SelfSubjectAccessReview",
                "spec": {"resourceAttributes": {key: value for key, value in check.items() if value}},
            }
            answer = self.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body=body)
            answers.append(bool((answer.get("status") or {}).get("allowed")))
        return answers

    def _address(self, obj: Mapping[str, Any]) -> tuple[Resource, str | None, str]:
        meta = obj["metadata"]
        return self.resource(obj["apiVersion"], obj["kind"]), meta.get("namespace"), meta.get("name", "")

    # ---- logs and commands in containers --------------------------------------------------------------------------------------

    def log(self, namespace: str, pod: str, container: str, *, lines: int, since: str = "", previous: bool = False, most: int = _LOG) -> bytes:
        """The last lines of a container's log, each after its time.

        Args:
            lines: how many at most.
            since: a time (RFC 3339, in whole seconds); lines before it are left out.
            previous: of the container before its last restart.
            most: bytes at most.

        Raises:
            ApiError: among others, the container has no log.
        """
        query = {"container": container, "timestamps": "true", "tailLines": lines, "limitBytes": most}
        query |= {"sinceTime": since} if since else {}
        query |= {"previous": "true"} if previous else {}
        path = f"{self.resource('v1', 'Pod').path(namespace, pod)}/log"
        response, answer = self._send("GET", path, query, accept="*/*")
        if not str(response.headers.get("Content-Type") or "text/plain").startswith("text/plain"):
            raise Unreachable(f"{self.name}: GET {path}: what answers at {self.server}{self._through} is not an API server.")
        return answer

    def exec(
        self,
        namespace: str,
        pod: str,
        container: str | None,
        command: Sequence[str],
        *,
        stdin: bytes | None = None,
        timeout: float = 0,
        on_stdout: Callable[[bytes], None] | None = None,
        silence: float | None = None,
    ) -> ExecResult:
        """Run C(command) (no shell) in a container; return its output and exit code.

        C(stdin) is sent and then closed. API servers before 1.30 cannot close it (protocol v4): the command must then
        detect the end of its input itself. C(timeout): seconds for the whole command, by default a minute. C(on_stdout) receives the output
        as it arrives, and the result then has none. C(silence): seconds without output after which the connection is considered lost.
        Needs the right to C(get) and C(create) C(pods/exec).

        Raises C(NotFound) (no such pod or container), C(Forbidden), C(ApiError) (the command could
        not be started) and C(Unreachable) (connection lost, or timeout; the command may still be running).
        """
        query = [("command", word) for word in command]
        query += [("stdout", "true"), ("stderr", "true")]
        if container:
            query.append(("container", container))
        if stdin is not None:
            query.append(("stdin", "true"))
        path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(pod, safe='')}/exec"
        what = f"exec {command[0] if command else ''} in {namespace}/{pod}" + (f" ({container})" if container else "")
        timeout = timeout or max(_EXEC_TIMEOUT, self.timeout)
        deadline = time.monotonic() + timeout
        channel = self._open_websocket(f"{path}?{urlencode(query)}", what)
        try:
            return Exec(channel, self.name, what, deadline, timeout, silence).run(stdin, on_stdout)
        except (websocket.WebSocketException, OSError, foreign_data.LimitExceeded) as error:
            raise Unreachable(
                f"{self.name}: {what}: the connection to {self.server} was lost: {one_line(error)}"
            ) from error
        finally:
            channel.close()

    def _open_websocket(self, path: str, what: str, *, may_renew: bool = True) -> websocket.WebSocket:
        """Connect; a 401 renews the credentials once, as in C(request)."""
        access = self._access
        options: dict[str, Any] = {"timeout": self.timeout, "enable_multithread": False}
        tls: dict[str, Any] = {}
        if access.tls is not None:
            # websocket-client sets these two on the context that it receives
            tls = {
                "context": access.tls,
                "cert_reqs": access.tls.verify_mode,
                "check_hostname": self._verifies,
            }
            if access.tls_server_name:
                tls["server_hostname"] = access.tls_server_name
        options["header"] = [f"{name}: {value}" for name, value in access.headers]
        options["header"].append(f"User-Agent: {USER_AGENT}")
        options["subprotocols"] = PROTOCOLS
        options["suppress_origin"] = True
        options["redirect_limit"] = 0  # the credentials are for this server
        options.update(_websocket_proxy(access))
        url = "ws" + self.server.removeprefix("http") + path
        self.requests += 1
        try:
            channel = limited_channel(websocket.WebSocket)(sslopt=tls, skip_utf8_validation=True)
            channel.connect(url, **options)
            if channel.getstatus() != _SWITCHED:
                raise Unreachable(f"{self.name}: {what}: {self.server} redirects to another address, which gets no credentials.")
            return channel
        except websocket.WebSocketBadStatusException as error:
            if error.status_code == 401:
                if not (may_renew and access.renewable):
                    raise self._unauthorized() from error
                self._renew()
                return self._open_websocket(path, what, may_renew=False)
            body = status_of(error.resp_body or b"")
            raise ERRORS.get(error.status_code, ApiError)(self.name, what, error.status_code, body) from error
        except (websocket.WebSocketException, OSError, foreign_data.LimitExceeded) as error:
            raise self._unreachable(error) from error
        finally:
            if access.tls is not None and _URLLIB3_1:
                access.tls.check_hostname = False


def _socks_manager(proxy: str, options: Mapping[str, Any]) -> Any:
    try:
        from urllib3.contrib.socks import SOCKSProxyManager
    except ImportError as error:
        raise AuthError("A SOCKS proxy needs the Python package 'PySocks' on the control node.") from error
    return SOCKSProxyManager(proxy, **options)


def _websocket_proxy(access: Access) -> dict[str, Any]:
    # without this, websocket-client would read the environment by its own rules
    if access.proxy is None:
        return {"http_no_proxy": ["*"]}
    parts = urlsplit(access.proxy)
    if parts.scheme not in ("http", "socks4", "socks4a", "socks5", "socks5h"):
        raise AuthError(f"Commands in containers cannot go through a proxy that itself uses TLS ({access.proxy}).")
    options: dict[str, Any] = {
        "http_proxy_host": parts.hostname,
        "http_proxy_port": parts.port or 80,
        "proxy_type": parts.scheme,
        "http_no_proxy": ["-"],
    }
    header = access.proxy_headers.get("proxy-authorization", "")
    if header.startswith("Basic "):
        import base64

        user, _colon, password = base64.b64decode(header[6:]).decode().partition(":")
        options["http_proxy_auth"] = (user, password)
    return options


def _write_query(dry_run: bool) -> dict[str, str]:
    query = {"fieldManager": FIELD_MANAGER}
    if dry_run:
        query["dryRun"] = "All"
    return query
