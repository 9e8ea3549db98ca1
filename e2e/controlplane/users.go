package controlplane

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// User is someone who talks to the API server, and may do what RBAC grants.
type User struct {
	// Name is what RBAC and the audit log call the user.
	Name string
	// Kubeconfig is the path of the user's kubeconfig.
	Kubeconfig string
	// RESTConfig is the user's client configuration, without a limit on the rate of requests.
	RESTConfig *rest.Config
}

// AddUser makes a user, who authenticates with a client certificate.
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

// AddServiceAccount makes a user with the name and the groups of a service account, so that the role bindings of a real
// deployment apply: what runs with its kubeconfig has exactly the rights it will have there.
func (p *ControlPlane) AddServiceAccount(namespace, name string) (*User, error) {
	return p.AddUser(fmt.Sprintf("system:serviceaccount:%s:%s", namespace, name),
		"system:serviceaccounts", "system:serviceaccounts:"+namespace, "system:authenticated")
}
