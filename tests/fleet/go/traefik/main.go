// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026, the federated.flower authors

// Traefik's provider for the Gateway API with its TCP router and proxy: traefik PORT ADDRESS, with KUBECONFIG in the environment.
//
// Traefik's own command also has every other provider and several hundred clients of DNS services, which a build pays for. Here are the
// parts that a TLSRoute needs. They watch Gateways of the controller "traefik.io/gateway-controller", set the conditions, and pass
// connections through by the name in the handshake. ADDRESS becomes the address in the status of Gateways.
package main

import (
	"context"
	"net"
	"os"
	"sync/atomic"

	"github.com/rs/zerolog/log"
	"github.com/traefik/traefik/v3/pkg/config/dynamic"
	"github.com/traefik/traefik/v3/pkg/config/runtime"
	"github.com/traefik/traefik/v3/pkg/provider/kubernetes/gateway"
	"github.com/traefik/traefik/v3/pkg/safe"
	tcpmiddleware "github.com/traefik/traefik/v3/pkg/server/middleware/tcp"
	tcprouter "github.com/traefik/traefik/v3/pkg/server/router/tcp"
	tcpservice "github.com/traefik/traefik/v3/pkg/server/service/tcp"
	"github.com/traefik/traefik/v3/pkg/tcp"
	"github.com/traefik/traefik/v3/pkg/tls"
)

const entryPoint = "fleet"

func main() {
	address := ":" + os.Args[1]
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal().Err(err).Send()
	}
	provider := &gateway.Provider{
		StatusAddress: &gateway.StatusAddress{IP: os.Args[2]},
		EntryPoints:   map[string]gateway.Entrypoint{entryPoint: {Address: address}},
	}
	provider.SetDefaults()
	if err := provider.Init(); err != nil {
		log.Fatal().Err(err).Send()
	}
	messages := make(chan dynamic.Message)
	if err := provider.Provide(messages, safe.NewPool(context.Background())); err != nil {
		log.Fatal().Err(err).Send()
	}
	var current atomic.Pointer[tcprouter.Router]
	go func() {
		for message := range messages {
			current.Store(route(message.Configuration))
		}
	}()
	for {
		connection, err := listener.Accept()
		if err != nil {
			log.Fatal().Err(err).Send()
		}
		if router := current.Load(); router != nil {
			go router.ServeTCP(connection.(*net.TCPConn))
		} else {
			_ = connection.Close()
		}
	}
}

// route returns a router for a configuration; its names get the provider's, as Traefik's aggregator does it.
func route(configuration *dynamic.Configuration) *tcprouter.Router {
	if configuration == nil || configuration.TCP == nil {
		return nil
	}
	named := &dynamic.TCPConfiguration{Routers: map[string]*dynamic.TCPRouter{}, Services: map[string]*dynamic.TCPService{}}
	for name, one := range configuration.TCP.Routers {
		named.Routers[name+"@"+gateway.ProviderName] = one
	}
	for name, one := range configuration.TCP.Services {
		named.Services[name+"@"+gateway.ProviderName] = one
	}
	current := runtime.NewConfig(dynamic.Configuration{TCP: named})
	transport := &dynamic.TCPServersTransport{}
	transport.SetDefaults()
	dialers := tcp.NewDialerManager(nil)
	dialers.Update(map[string]*dynamic.TCPServersTransport{"default@internal": transport})
	manager := tcprouter.NewManager(
		current, tcpservice.NewManager(current, dialers), tcpmiddleware.NewBuilder(nil), nil, nil, tls.NewManager(nil), nil,
	)
	return manager.BuildHandlers(context.Background(), []string{entryPoint})[entryPoint]
}
