// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026, the federated.flower authors

// Package ext has the places where builds of Traefik add fields to its configuration; none does here.
package ext

// HTTP has nothing to add to the HTTP configuration.
type HTTP struct{}

// Router has nothing to add to routers.
type Router struct{}
