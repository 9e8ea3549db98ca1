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

// ErrNobodyToAsk is the error of a roll that nobody at a terminal can confirm.
var ErrNobodyToAsk = errors.New("roll asks before it restarts nodes, and nobody can be asked here: look at `roller plan`, and give --yes")

// Confirmation asks whoever sits at the terminal; nil: nobody needs to be asked.
func Confirmation(o options.Options, in *os.File, out io.Writer) (func() bool, error) {
	if o.Yes {
		return nil, nil // nobody needs to be asked
	}
	if !term.IsTerminal(int(in.Fd())) {
		return nil, ErrNobodyToAsk
	}
	return func() bool {
		fmt.Fprint(out, "Roll these nodes? [y/N] ")
		answer, _ := bufio.NewReader(in).ReadString('\n') // no answer is none
		return strings.EqualFold(strings.TrimSpace(answer), "y")
	}, nil
}
