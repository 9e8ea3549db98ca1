// Package commandline reads the program's arguments: a subcommand, or the settings of the operator.
package commandline

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kafka-operators/kafka-operators/topic-operator/internal/exit"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/options"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/policy"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/release"
)

// Program is what a command line runs.
type Program struct {
	// Operator runs the operator with these arguments. It returns flag.ErrHelp if they ask for help, and an exit.Status if it fails.
	Operator func(args []string) error
	// Signals returns a context that ends when the program is interrupted. Commands that change nothing do without.
	Signals        func() context.Context
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Run runs the command that the arguments name, and returns the exit status. Without one it runs the operator, which reads all arguments
// itself: flags of its settings, and the start script of Strimzi's Deployment.
func (p Program) Run(args []string) int {
	root := p.command()
	var err error
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		err = root.RunE(root, args)
	} else {
		root.SetArgs(args)
		root, err = root.ExecuteC()
	}
	if err == nil {
		return 0
	}
	if status, ok := errors.AsType[exit.Status](err); ok {
		return int(status)
	}
	fmt.Fprintf(p.Stderr, "topic-operator: %v\nSee '%s --help'.\n", err, root.CommandPath())
	return int(exit.Usage)
}

// command returns the command of the operator, with the subcommands.
func (p Program) command() *cobra.Command {
	root := &cobra.Command{
		Use: "topic-operator", DisableFlagParsing: true, Args: cobra.ArbitraryArgs, SilenceErrors: true, SilenceUsage: true,
		RunE: func(c *cobra.Command, args []string) error {
			err := p.Operator(args)
			if errors.Is(err, flag.ErrHelp) {
				return c.Help()
			}
			return err
		},
	}
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	root.AddCommand(policy.Command(), release.Command(p.Signals))
	help := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c != root {
			help(c, args)
			return
		}
		fmt.Fprint(p.Stdout, options.Help(subcommands(c)))
	})
	return root
}

// subcommands lists the subcommands for the help of the operator, whose flags cobra does not know.
func subcommands(root *cobra.Command) string {
	root.InitDefaultCompletionCmd()
	var b strings.Builder
	b.WriteString("Without a subcommand it runs as a Deployment. Subcommands, which have a --help of their own:\n")
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprintf(&b, "  topic-operator %-11s %s\n", c.Name(), c.Short)
		}
	}
	return b.String()
}
