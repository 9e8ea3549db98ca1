package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// state is the state of the demo between its commands, in .demo/state.json.
type state struct {
	// Supervisor is zero until the supervisor has been started.
	Supervisor identity
	// Kafka is embedded or real.
	Kafka string
	// Binary is the path of the operator's binary.
	Binary string

	// The other fields are known once everything runs.

	Ready      bool
	Parts      []part
	Bootstrap  []string
	Kubeconfig string
	Kubectl    string
	Metrics    string
}

// part is one of the background programs.
type part struct {
	Name string
	PID  int
	Log  string
}

func (d *Demo) stateFile() string { return d.path("state.json") }

// load returns the state; nil if there is none.
func (d *Demo) load() (*state, error) {
	b, err := os.ReadFile(d.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &state{}
	if err := json.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("%s: %w", d.shown(d.stateFile()), err)
	}
	return s, nil
}

// save replaces the state atomically: other commands may be reading it.
func (d *Demo) save(s *state) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	part := filepath.Join(d.dir, fmt.Sprintf(".state.%d", os.Getpid()))
	if err := os.WriteFile(part, append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(part, d.stateFile())
}

// running returns the state of a running demo.
func (d *Demo) running() (*state, error) {
	s, err := d.load()
	if err != nil {
		return nil, err
	}
	if s == nil || !s.Ready || !s.Supervisor.alive() {
		return nil, errors.New("the demo does not run: make demo")
	}
	return s, nil
}
