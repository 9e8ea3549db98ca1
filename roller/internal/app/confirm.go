package app

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/kafka-operators/kafka-operators/roller/internal/options"
)

// ErrNobodyToAsk is the error of a roll that needs a confirmation and has no terminal to ask for it.
var ErrNobodyToAsk = errors.New("roll asks before it restarts nodes, and stdin is not a terminal: review `roller plan`, then pass --yes")

// Confirmation returns a function that asks the user at the terminal; nil if no question is needed.
func Confirmation(o options.Options, in *os.File, out io.Writer) (func() bool, error) {
	if o.Yes {
		return nil, nil
	}
	if !term.IsTerminal(int(in.Fd())) {
		return nil, ErrNobodyToAsk
	}
	return func() bool {
		fmt.Fprint(out, "Roll these nodes? [y/N] ")
		answer, _ := bufio.NewReader(in).ReadString('\n') // an answer that can't be read means no
		return strings.EqualFold(strings.TrimSpace(answer), "y")
	}, nil
}
