// Package external runs network providers as separate programs: a provider's main calls Serve, and the operator connects to it with Start.
//
// A crash of the program does not affect the operator, which restarts it. The program is given no credentials and none of the operator's
// environment. It shares the operator's container, so it can read what that container can: install only programs that you trust.
//
// The protocol is hashicorp/go-plugin's over gRPC. The service is kafkaoperators.network.v1.Provider with the methods Configure, Info, Plan
// and Resolve; each takes and returns a google.protobuf.BytesValue that holds the JSON of the types of package network.
package external
