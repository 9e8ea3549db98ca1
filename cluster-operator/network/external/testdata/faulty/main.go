// Command faulty is a network provider that does what its settings say.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/external"
)

func main() { external.Serve(newProvider) }

type provider struct{ fault string }

func newProvider(settings map[string]string) (network.Provider, error) {
	if settings["fault"] == "refuse" {
		return nil, errors.New("setting fault: refuse is not a fault")
	}
	return &provider{fault: settings["fault"]}, nil
}

// Info reports which variables of the operator's environment the program sees.
func (*provider) Info(context.Context) (network.Info, error) {
	return network.Info{Name: strings.Join(os.Environ(), "\n"), Interface: network.Version}, nil
}

func (p *provider) Plan(ctx context.Context, _ network.Request) ([]network.Object, error) {
	switch p.fault {
	case "crash":
		os.Exit(3)
	case "hang":
		<-ctx.Done()
		return nil, ctx.Err()
	case "fail":
		return nil, errors.New("no plan today")
	}
	return nil, nil
}

func (p *provider) Resolve(_ context.Context, _ network.Request, observed []network.Object) (network.Resolution, error) {
	if p.fault == "echo" {
		return network.Resolution{}, fmt.Errorf("observed: %v", observed)
	}
	return network.NewResolution(), nil
}
