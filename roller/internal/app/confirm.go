package app

import (
	"bufio"
	"context"
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
func Confirmation(o options.Options, in *os.File, out io.Writer) (func(context.Context) bool, error) {
	if o.Yes {
		return nil, nil
	}
	if !term.IsTerminal(int(in.Fd())) {
		return nil, ErrNobodyToAsk
	}
	return func(ctx context.Context) bool { return ask(ctx, in, out) }, nil
}

// ask asks the question. An end of the program, such as by Ctrl-C, means no: nothing else ends the reading from a terminal.
func ask(ctx context.Context, in io.Reader, out io.Writer) bool {
	fmt.Fprint(out, "Roll these nodes? [y/N] ")
	answers := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(in).ReadString('\n') // an answer that can't be read means no
		answers <- strings.ToLower(strings.TrimSpace(answer))
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(out)
		return false
	case answer := <-answers:
		return ctx.Err() == nil && (answer == "y" || answer == "yes")
	}
}
