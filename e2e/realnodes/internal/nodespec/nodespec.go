// Package nodespec is the contract between the harness and the first process of a node. Both programs are always built from the same
// checkout.
package nodespec

import (
	"encoding/json"
	"os"
)

// Spec describes a node for its first process.
type Spec struct {
	// Hostname is the node's name.
	Hostname string
	// Cgroup is the path of the node's own cgroup below the root of every hierarchy.
	Cgroup string
	// Hierarchies are the cgroup hierarchies that the node sees.
	Hierarchies []Hierarchy
	// Scratch lists folders that are replaced by empty tmpfs mounts in the node.
	Scratch []string
	// Folders are the node's persistent folders: it maps their paths on the machine to their paths on the node.
	Folders map[string]string
	// Kernel maps paths under /proc/sys to the values that programs of the node read there, regardless of the machine's.
	Kernel map[string]string
	// Dir is the node's own folder on the machine. Logs are in its subfolder logs.
	Dir string
	// Components are the programs that the node runs, and restarts when they end.
	Components []Component
	// ImportImage is the command that imports an image archive; the archive's path is appended.
	ImportImage []string
	// Env is the environment of all programs.
	Env []string
}

// Hierarchy is one cgroup (version 1) hierarchy.
type Hierarchy struct {
	// Name is the name of its folder below /sys/fs/cgroup, where programs expect it.
	Name string
	// Source is the folder on the machine where the hierarchy is mounted.
	Source string
	// Options are the options of mount(2): the controllers.
	Options string
}

// Component is a program of a node.
type Component struct {
	// Name is the name of the component and of its log.
	Name string
	// Args are the program and its arguments.
	Args []string
	// After are the conditions for each start, including restarts.
	After []Condition
}

// Condition is a condition for the start of a component. Exactly one of the fields is set.
type Condition struct {
	// Socket is the path of a Unix socket that must accept connections.
	Socket string `json:",omitempty"`
	// URL must respond with status 200.
	URL string `json:",omitempty"`
}

// The requests to a node's first process, one per line, and the response, which is one line. The node ends when the requests end.
const (
	// Stop kills a component, which stays down.
	Stop = "stop"
	// Start starts a component that was stopped.
	Start = "start"
	// Import imports an image archive.
	Import = "import"
	// Done is the response to a successful request. Any other response is the reason of a failure.
	Done = "done"
)

// NetworkFile is the number of the open file with the network namespace of a node's first process.
const NetworkFile = 3

// Write writes the spec to a file.
func (s *Spec) Write(path string) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}

// Read reads a spec from a file.
func Read(path string) (*Spec, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := &Spec{}
	return s, json.Unmarshal(b, s)
}
