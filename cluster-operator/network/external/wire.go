package external

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
)

// The handshake identifies a provider's program. Its version is that of the protocol, not of package network.
func handshake() plugin.HandshakeConfig {
	return plugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "KAFKA_OPERATORS_NETWORK_PROVIDER", MagicCookieValue: "plan and resolve"}
}

const (
	pluginName  = "network"
	serviceName = "kafkaoperators.network.v1.Provider"
)

// resolveArguments are the arguments of Resolve.
type resolveArguments struct {
	Request  network.Request
	Observed []network.Object
}

// wire makes both ends of a connection.
type wire struct {
	plugin.NetRPCUnsupportedPlugin
	factory network.Factory
}

// GRPCServer serves a provider, in its program.
func (w *wire) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	s.RegisterService(&service, &server{factory: w.factory})
	return nil
}

// GRPCClient reaches it, in the operator.
func (*wire) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return c, nil
}

// call calls a method with JSON in and out.
func call[Out any](ctx context.Context, c *grpc.ClientConn, method string, in any) (out Out, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	reply := &wrapperspb.BytesValue{}
	if err := c.Invoke(ctx, "/"+serviceName+"/"+method, wrapperspb.Bytes(body), reply); err != nil {
		return out, err
	}
	return out, json.Unmarshal(reply.GetValue(), &out)
}

// service describes the methods, as a generator would from a protocol definition.
var service = grpc.ServiceDesc{
	ServiceName: serviceName,
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{
		method("Configure", func(_ context.Context, s *server, settings map[string]string) (struct{}, error) {
			return struct{}{}, s.configure(settings)
		}),
		method("Info", func(ctx context.Context, s *server, _ struct{}) (network.Info, error) {
			return with(s, func(p network.Provider) (network.Info, error) { return p.Info(ctx) })
		}),
		method("Plan", func(ctx context.Context, s *server, r network.Request) ([]network.Object, error) {
			return with(s, func(p network.Provider) ([]network.Object, error) { return p.Plan(ctx, r) })
		}),
		method("Resolve", func(ctx context.Context, s *server, a resolveArguments) (network.Resolution, error) {
			return with(s, func(p network.Provider) (network.Resolution, error) { return p.Resolve(ctx, a.Request, a.Observed) })
		}),
	},
}

func method[In, Out any](name string, do func(context.Context, *server, In) (Out, error)) grpc.MethodDesc {
	return grpc.MethodDesc{MethodName: name, Handler: func(s any, ctx context.Context, decode func(any) error,
		_ grpc.UnaryServerInterceptor) (any, error) {
		message := &wrapperspb.BytesValue{}
		if err := decode(message); err != nil {
			return nil, err
		}
		var in In
		if err := json.Unmarshal(message.GetValue(), &in); err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "%s: %v", name, err)
		}
		out, err := do(ctx, s.(*server), in) // it was registered so
		if err != nil {
			return nil, err
		}
		body, err := json.Marshal(out)
		return wrapperspb.Bytes(body), err
	}}
}
