# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""CustomResourceDefinitions of the shape of Skupper 2.2.1's (§1): same kinds, names, fields and rules, own words.

The original schemas hold no defaults (§1: they are applied by the controller), so these do not either.
"""

from __future__ import annotations

from typing import Any

GROUP = "skupper.io"
VERSION = "v2alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
Schema = dict[str, Any]

STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
BOOLEAN: Schema = {"type": "boolean"}
TIME: Schema = {"type": "string", "format": "date-time"}
OBSERVER: Schema = {"type": "string", "enum": ["auto", "none", "http1", "http2"]}


def record(required: tuple[str, ...] = (), /, **fields: Schema) -> Schema:
    """An object with these fields."""
    return {"type": "object", "properties": fields, **({"required": list(required)} if required else {})}


def list_of(item: Schema) -> Schema:
    """An array."""
    return {"type": "array", "items": item}


def map_of(item: Schema) -> Schema:
    """A map with string keys."""
    return {"type": "object", "additionalProperties": item}


SETTINGS = map_of(STRING)
ENDPOINTS = list_of(record(name=STRING, host=STRING, port=STRING, group=STRING))
PODS = list_of(record(name=STRING, ip=STRING))
# A condition as every Kubernetes API has it (metav1.Condition).
CONDITIONS = list_of(
    record(
        ("lastTransitionTime", "message", "reason", "status", "type"),
        lastTransitionTime=TIME,
        message={"type": "string", "maxLength": 32768},
        observedGeneration={"type": "integer", "format": "int64", "minimum": 0},
        reason={
            "type": "string",
            "minLength": 1,
            "maxLength": 1024,
            "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
        },
        status={"type": "string", "enum": ["True", "False", "Unknown"]},
        type={
            "type": "string",
            "maxLength": 316,
            "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
            r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
        },
    )
)
ONE_STRATEGY: Schema = {
    "rule": "[has(self.priority),has(self.weighted)].filter(x,x==true).size() == 1",
    "message": "one of priority and weighted must be set, and not both",
}
SAME_STRATEGY: Schema = {
    "rule": "(!has(oldSelf.priority) || has(self.priority)) && (!has(oldSelf.weighted) || has(self.weighted))",
    "message": "the kind of strategy cannot be changed",
}


def status_of(**fields: Schema) -> Schema:
    """The status of a kind: what all have in common, and its own fields."""
    return record(status=STRING, message=STRING, conditions=CONDITIONS, **fields)


def definition(
    kind: str, plural: str, spec: Schema, status: Schema, *short: str, spec_required: bool = False, **columns: str
) -> dict[str, Any]:
    """One definition; ``columns`` are what a listing shows, title (with _ for blanks) -> path."""
    schema = record(("spec",) if spec_required else (), spec=spec, status=status)
    shown = [
        {"name": title.replace("_", " "), "type": "string", "jsonPath": path}
        for title, path in {**columns, "Status": ".status.status", "Message": ".status.message"}.items()
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": kind,
                "plural": plural,
                "singular": kind.lower(),
                **({"shortNames": list(short)} if short else {}),
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": shown,
                }
            ],
        },
    }


def _site() -> dict[str, Any]:
    link = record(name=STRING, remoteSiteId=STRING, remoteSiteName=STRING, operational=BOOLEAN)
    service = record(routingKey=STRING, connectors=list_of(STRING), listeners=list_of(STRING))
    site = record(
        id=STRING,
        name=STRING,
        namespace=STRING,
        platform=STRING,
        version=STRING,
        links=list_of(link),
        services=list_of(service),
    )
    return definition(
        "Site",
        "sites",
        record(
            serviceAccount=STRING,
            linkAccess=STRING,
            defaultIssuer=STRING,
            ha=BOOLEAN,
            edge=BOOLEAN,
            settings=SETTINGS,
        ),
        status_of(
            defaultIssuer=STRING,
            controller=record(name=STRING, namespace=STRING, version=STRING),
            endpoints=ENDPOINTS,
            sitesInNetwork=INTEGER,
            network=list_of(site),
        ),
        "st",
        Sites_In_Network=".status.sitesInNetwork",
    )


def _connections() -> list[dict[str, Any]]:
    """Link, AccessGrant, AccessToken."""
    return [
        definition(
            "Link",
            "links",
            record(("endpoints",), endpoints=ENDPOINTS, tlsCredentials=STRING, cost=INTEGER, settings=SETTINGS),
            status_of(remoteSiteId=STRING, remoteSiteName=STRING),
            "ln",
            Remote_Site=".status.remoteSiteName",
        ),
        definition(
            "AccessGrant",
            "accessgrants",
            record(
                redemptionsAllowed=INTEGER,
                expirationWindow={"type": "string", "format": "duration"},
                code=STRING,
                issuer=STRING,
                settings=SETTINGS,
            ),
            status_of(url=STRING, code=STRING, ca=STRING, redemptions=INTEGER, expirationTime=TIME),
            "grant",
            "gr",
            Redemptions_Allowed=".spec.redemptionsAllowed",
            Redemptions_Made=".status.redemptions",
            Expiration=".status.expirationTime",
        ),
        definition(
            "AccessToken",
            "accesstokens",
            record(("url", "code", "ca"), url=STRING, code=STRING, ca=STRING, linkCost=INTEGER, settings=SETTINGS),
            status_of(redeemed=BOOLEAN),
            "token",
            "to",
            URL=".spec.url",
            Redeemed=".status.redeemed",
        ),
    ]


def _bindings() -> list[dict[str, Any]]:
    """Listener, MultiKeyListener, Connector, AttachedConnector and its binding."""
    keys = {"type": "array", "items": STRING, "minItems": 1, "maxItems": 256, "x-kubernetes-list-type": "set"}
    weights = {**map_of(INTEGER), "minProperties": 1, "maxProperties": 256, "x-kubernetes-map-type": "granular"}
    strategy = record(
        priority=record(("routingKeys",), routingKeys=keys), weighted=record(("routingKeys",), routingKeys=weights)
    )
    reached = record(
        priority=record(("routingKeysReachable",), routingKeysReachable=list_of(STRING)),
        weighted=record(
            ("routingKeysReachable",),
            routingKeysReachable={**map_of(INTEGER), "x-kubernetes-map-type": "granular"},
        ),
    )
    connector = record(
        ("routingKey", "port"),
        routingKey=STRING,
        port=INTEGER,
        selector=STRING,
        host=STRING,
        tlsCredentials=STRING,
        useClientCert=BOOLEAN,
        verifyHostname=BOOLEAN,
        type=STRING,
        includeNotReadyPods=BOOLEAN,
        exposePodsByName=BOOLEAN,
        settings=SETTINGS,
    )
    connector["oneOf"] = [{"required": ["selector"]}, {"required": ["host"]}]
    return [
        definition(
            "Listener",
            "listeners",
            record(
                ("routingKey", "host", "port"),
                observer=OBSERVER,
                routingKey=STRING,
                host=STRING,
                port=INTEGER,
                tlsCredentials=STRING,
                type=STRING,
                exposePodsByName=BOOLEAN,
                settings=SETTINGS,
            ),
            status_of(hasMatchingConnector=BOOLEAN),
            "lnr",
            Routing_Key=".spec.routingKey",
            Host=".spec.host",
            Port=".spec.port",
        ),
        definition(
            "MultiKeyListener",
            "multikeylisteners",
            record(
                ("host", "port", "strategy"),
                host=STRING,
                port=INTEGER,
                observer=OBSERVER,
                requireClientCert=BOOLEAN,
                settings=SETTINGS,
                strategy={**strategy, "x-kubernetes-validations": [SAME_STRATEGY, ONE_STRATEGY]},
                tlsCredentials=STRING,
            ),
            status_of(
                hasDestination=BOOLEAN,
                strategy={**reached, "x-kubernetes-validations": [ONE_STRATEGY]},
            ),
            spec_required=True,
        ),
        definition(
            "Connector",
            "connectors",
            connector,
            status_of(hasMatchingListener=BOOLEAN, selectedPods=PODS),
            "cnr",
            Routing_Key=".spec.routingKey",
            Selector=".spec.selector",
            Port=".spec.port",
        ),
        definition(
            "AttachedConnector",
            "attachedconnectors",
            record(
                ("siteNamespace", "port", "selector"),
                siteNamespace=STRING,
                port=INTEGER,
                selector=STRING,
                tlsCredentials=STRING,
                useClientCert=BOOLEAN,
                type=STRING,
                includeNotReadyPods=BOOLEAN,
                settings=SETTINGS,
            ),
            status_of(selectedPods=PODS),
            "acnr",
            Site_Namespace=".spec.siteNamespace",
        ),
        definition(
            "AttachedConnectorBinding",
            "attachedconnectorbindings",
            record(
                ("connectorNamespace", "routingKey"),
                connectorNamespace=STRING,
                routingKey=STRING,
                exposePodsByName=BOOLEAN,
                settings=SETTINGS,
            ),
            status_of(hasMatchingListener=BOOLEAN),
            "acnrb",
            Connector_Namespace=".spec.connectorNamespace",
        ),
    ]


def _access() -> list[dict[str, Any]]:
    """RouterAccess, SecuredAccess, Certificate."""
    role = record(("name",), name=STRING, port=INTEGER)
    port = record(("name", "port"), name=STRING, port=INTEGER, targetPort=INTEGER, protocol=STRING)
    return [
        definition(
            "RouterAccess",
            "routeraccesses",
            record(
                ("roles", "tlsCredentials"),
                roles=list_of(role),
                generateTlsCredentials=BOOLEAN,
                issuer=STRING,
                accessType=STRING,
                tlsCredentials=STRING,
                bindHost=STRING,
                subjectAlternativeNames=list_of(STRING),
                settings=SETTINGS,
            ),
            status_of(endpoints=ENDPOINTS),
        ),
        definition(
            "SecuredAccess",
            "securedaccesses",
            record(
                ("ports", "selector"),
                ports=list_of(port),
                selector=map_of(STRING),
                issuer=STRING,
                certificate=STRING,
                accessType=STRING,
                settings=SETTINGS,
            ),
            status_of(endpoints=ENDPOINTS, ca=STRING),
        ),
        definition(
            "Certificate",
            "certificates",
            record(
                ("ca", "subject"),
                ca=STRING,
                subject=STRING,
                hosts=list_of(STRING),
                client=BOOLEAN,
                server=BOOLEAN,
                signing=BOOLEAN,
                settings=SETTINGS,
            ),
            status_of(expiration=TIME),
        ),
    ]


def definitions() -> list[dict[str, Any]]:
    """All twelve."""
    return [_site(), *_connections(), *_bindings(), *_access()]
