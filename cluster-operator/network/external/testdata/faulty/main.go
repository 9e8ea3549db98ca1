// Command faulty is a network provider that does what its settings say.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/external"
)

func main() { external.Serve(newProvider) }

// provider has one fault. It stops while the file once exists.
type provider struct{ fault, once string }

func newProvider(settings map[string]string) (network.Provider, error) {
	if settings["fault"] == "refuse" {
		return nil, errors.New("setting fault: refuse is not a fault")
	}
	return &provider{fault: settings["fault"], once: settings["once"]}, nil
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
	case "stop":
		if err := os.Remove(p.once); err == nil { // no request is answered any more
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			select {} // not all threads stop at once
		}
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
