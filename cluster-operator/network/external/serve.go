package external

import (
	"math"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
)

// Serve serves a provider to the operator that started this program, and returns when the operator disconnects. If a user starts the
// program, it prints that it is a plugin.
func Serve(factory network.Factory) {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: handshake(), Plugins: plugin.PluginSet{pluginName: &wire{factory: factory}},
		GRPCServer: newServer, Logger: hclog.NewNullLogger(),
	})
}

// newServer takes requests of any size, as the operator takes replies. gRPC's default is 4 MiB, which the objects of a large Kubernetes
// cluster exceed.
func newServer(opts []grpc.ServerOption) *grpc.Server {
	return grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(math.MaxInt32))...)
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
