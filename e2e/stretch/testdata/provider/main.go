// Command network-provider-relay is the network provider nodeport as a program of its own.
package main

import (
	"context"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/external"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/nodeport"
)

func main() { external.Serve(newRelay) }

// relay is nodeport by another name.
type relay struct{ network.Provider }

func newRelay(settings map[string]string) (network.Provider, error) {
	p, err := nodeport.New(settings)
	return relay{p}, err
}

// Info implements network.Provider.
func (r relay) Info(ctx context.Context) (network.Info, error) {
	about, err := r.Provider.Info(ctx)
	about.Name = "relay"
	return about, err
}
