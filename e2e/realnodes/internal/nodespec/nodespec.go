// Package nodespec is what the harness tells the first process of a node: the contract between two programs that are always
// built from the same checkout.
package nodespec

import (
	"encoding/json"
	"os"
)

// Spec describes a node as its first process makes it.
type Spec struct {
	// Hostname is the node's name.
	Hostname string
	// Cgroup is the path of the node's own cgroup below the root of every hierarchy.
	Cgroup string
	// Hierarchies are the cgroup hierarchies that the node sees.
	Hierarchies []Hierarchy
	// Scratch are folders of the machine that the node sees empty and of its own, in memory.
	Scratch []string
	// Folders are the node's lasting folders: where the node sees them, by where they are on the machine.
	Folders map[string]string
	// Kernel are values that programs of the node find under /proc/sys, whatever the machine's are, by their path.
	Kernel map[string]string
	// Dir is the node's own folder on the machine: logs are in its subfolder logs.
	Dir string
	// Components are the programs that the node runs, each again when it ends.
	Components []Component
	// ImportImage is the command that imports an image archive; the archive's path is appended.
	ImportImage []string
	// Env is the environment of all programs.
	Env []string
}

// Hierarchy is one cgroup (version 1) hierarchy.
type Hierarchy struct {
	// Name is that of its folder below /sys/fs/cgroup, as programs expect it.
	Name string
	// Source is the folder on the machine where the hierarchy is mounted.
	Source string
	// Options are those of mount(2): the controllers.
	Options string
}

// Component is a program of a node.
type Component struct {
	// Name is the component's, and that of its log.
	Name string
	// Args are the program and its arguments.
	Args []string
	// After are the conditions for its (first and every further) start.
	After []Condition
}

// Condition is something that must be there before a component can start. Exactly one of the fields is set.
type Condition struct {
	// Socket is the path of a Unix socket that must accept connections.
	Socket string `json:",omitempty"`
	// URL must be answered with a status of 200.
	URL string `json:",omitempty"`
}

// The words of the conversation with a node's first process: one request a line, answered with one line. The end of the
// requests is the end of the node.
const (
	// Stop kills a component and leaves it down.
	Stop = "stop"
	// Start has a component run again that was stopped.
	Start = "start"
	// Import imports an image archive.
	Import = "import"
	// Done answers a request that was fulfilled. Any other answer is the reason why it was not.
	Done = "done"
)

// NetworkFile is the number of the open file by which a node's first process is given its network namespace.
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
