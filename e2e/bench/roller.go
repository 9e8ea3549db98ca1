package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
)

// roller takes the figures of the roller's core from its own program: what it measures is internal to its module.
func (w *world) roller(ctx context.Context, r *Report) error {
	root, err := operatorproc.RepositoryPath()
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, "go", "run", "./roller/internal/cmd/figures")
	c.Dir = root
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return fmt.Errorf("%w: %s", err, said.String())
	}
	d := json.NewDecoder(bytes.NewReader(out))
	for {
		var f Figure
		if err := d.Decode(&f); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if f.Floor != 0 {
			r.addBeside(f.Name, f.Value, f.Floor, f.Unit)
		} else {
			r.add(f.Name, f.Value, f.Unit)
		}
	}
}
