package controlplane

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// User is a user of the API server with the rights that RBAC grants.
type User struct {
	// Name is the name of the user in RBAC and in the audit log.
	Name string
	// Kubeconfig is the path of the user's kubeconfig.
	Kubeconfig string
	// RESTConfig is the user's client configuration, without a limit on the rate of requests.
	RESTConfig *rest.Config
}

// AddUser creates a user who authenticates with a client certificate.
func (p *ControlPlane) AddUser(name string, groups ...string) (*User, error) {
	authenticated, err := p.env.AddUser(envtest.User{Name: name, Groups: groups}, nil)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := authenticated.KubeConfig()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(p.dir, "kubeconfig-"+strings.ReplaceAll(name, ":", "-"))
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		return nil, err
	}
	return &User{Name: name, Kubeconfig: path, RESTConfig: unlimited(authenticated.Config())}, nil
}

// AddServiceAccount creates a user with the name and the groups of a service account, so that the role bindings of a real deployment apply:
// a program with this kubeconfig has exactly the rights that it has there.
func (p *ControlPlane) AddServiceAccount(namespace, name string) (*User, error) {
	return p.AddUser(fmt.Sprintf("system:serviceaccount:%s:%s", namespace, name),
		"system:serviceaccounts", "system:serviceaccounts:"+namespace, "system:authenticated")
}
