package external

import (
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
)

// Serve serves a provider to the operator that started this program, and returns when the operator disconnects. If a user starts the
// program, it prints that it is a plugin.
func Serve(factory network.Factory) {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: handshake(), Plugins: plugin.PluginSet{pluginName: &wire{factory: factory}},
		GRPCServer: plugin.DefaultGRPCServer, Logger: hclog.NewNullLogger(),
	})
}

// server delegates to the provider that the factory made with the latest settings.
type server struct {
	factory network.Factory

	mu       sync.Mutex
	provider network.Provider
}

func (s *server) configure(settings map[string]string) error {
	provider, err := s.factory(settings)
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.provider = provider
	return nil
}

func with[Out any](s *server, do func(network.Provider) (Out, error)) (Out, error) {
	s.mu.Lock()
	provider := s.provider
	s.mu.Unlock()
	if provider == nil {
		var none Out
		return none, status.Error(codes.FailedPrecondition, "the provider was not configured")
	}
	return do(provider)
}
