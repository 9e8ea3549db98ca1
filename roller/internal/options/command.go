package options

import (
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kafka-operators/kafka-operators/kafka/credentials"
	"github.com/kafka-operators/kafka-operators/roller"
)

// Surroundings are what a command line is read in.
type Surroundings struct {
	// Program is the path that the program was called by. As kubectl-roller it is a plugin of kubectl.
	Program string
	// Version is what --version prints.
	Version string
	// Env looks up environment variables.
	Env func(name string) (string, bool)
	// Namespace returns the namespace of a context, for commands that name none; empty: there is none.
	Namespace func(kubeconfig, context string) string
	// Out is where help and completions are printed.
	Out io.Writer
}

const (
	long = `roller restarts the nodes of a Kafka cluster safely, as fast as that allows.

Each flag with a variable in brackets can be set by that variable; the flag wins.

plan and explain end with 0 if there is nothing to do, 3 if there is, 4 if something is blocked, 1 for errors, 2 for a wrong command line.
roll ends with 0 when all is done, and with 4 when it can't go on.`
	examples = `  roller plan -n kafka --cluster my-cluster        # what would be restarted, and in which order
  roller explain NODE -n kafka --cluster my-cluster  # what one node waits for
  roller roll -n kafka --cluster my-cluster        # show the plan, ask, and do it`
)

// command is a subcommand with what it does, and the flags that are its own; all others are everybody's.
type command struct {
	use, short string
	flags      []string
}

var commands = []command{
	{"plan", "Show what would be restarted, in which order and batches, and what is in the way", []string{"output"}},
	{"explain NODE", "Show all that is known of one node, by its id or its pod's name", []string{"output"}},
	{"roll", "Restart what should be restarted, here and now, and show how it goes", []string{"limit", "yes"}},
	{"run", "Run the Deployment: watch, and restart whatever should be restarted", []string{"http-address", "leader-election", "log-json"}},
}

var shorthands = map[string]string{"namespace": "n", "output": "o"}

// Parse reads a command line (without the program's name) and the environment. The error says what is wrong and how to put it right; flag.ErrHelp if
// help, completion or the version was asked for, or no command was given, and that was printed.
func Parse(args []string, in Surroundings) (Options, error) {
	o := Options{Policy: roller.DefaultPolicy()}
	set, texts := o.flags()
	var chosen *cobra.Command
	root := o.commandLine(set, func(c *cobra.Command) { chosen = c })
	if strings.HasPrefix(filepath.Base(in.Program), "kubectl-") {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl roller"}
	}
	root.Version = in.Version
	root.SetVersionTemplate("roller {{.Version}}\n")
	root.SetArgs(args)
	root.SetOut(in.Out)
	switch err := root.Execute(); {
	case err != nil:
		return Options{}, err
	case o.Command == "":
		return Options{}, flag.ErrHelp
	}
	given := func(name string) bool { f := chosen.Flags().Lookup(name); return f != nil && f.Changed }
	if err := fromEnvironment(set, in.Env, given); err != nil {
		return Options{}, err
	}
	if texts.namespaces == "" && o.Command != "run" && in.Namespace != nil {
		texts.namespaces = in.Namespace(o.Kubeconfig, o.Context)
	}
	password, _ := in.Env(envPassword)
	o.Kafka.SASL.Password = credentials.Conceal(password)
	texts.kafka.custom, _ = in.Env(envCustom)
	if err := o.takeNamespaces(texts.namespaces, in.Env); err != nil {
		return Options{}, err
	}
	if err := o.take(texts); err != nil {
		return Options{}, err
	}
	return o, o.check()
}

// commandLine makes the commands, with the flags of the set. choose gets the one that is called.
func (o *Options) commandLine(set *flag.FlagSet, choose func(*cobra.Command)) *cobra.Command {
	root := &cobra.Command{
		Use: "roller", Short: "Restart the nodes of Kafka clusters safely", Long: long, Example: examples, SilenceErrors: true, SilenceUsage: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("%q is no command of the roller: see --help", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	own := map[string]*pflag.Flag{}
	for _, c := range commands {
		sub := o.subcommand(c, choose)
		for _, name := range c.flags {
			if own[name] == nil {
				own[name] = withVariable(set.Lookup(name))
			}
			sub.Flags().AddFlag(own[name])
			if name == "output" {
				_ = sub.RegisterFlagCompletionFunc(name, formats) // it fails for flags that do not exist
			}
		}
		root.AddCommand(sub)
	}
	set.VisitAll(func(f *flag.Flag) {
		if own[f.Name] == nil {
			root.PersistentFlags().AddFlag(withVariable(f))
		}
	})
	return root
}

func formats(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp
}

func (o *Options) subcommand(c command, choose func(*cobra.Command)) *cobra.Command {
	name, _, node := strings.Cut(c.use, " ")
	sub := &cobra.Command{
		Use: c.use, Short: c.short,
		Args: func(_ *cobra.Command, args []string) error {
			if node && len(args) > 0 {
				o.Node, args = args[0], args[1:]
			}
			if len(args) > 0 {
				return fmt.Errorf("%q is not understood: flags begin with --, see --help", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Command = name
			choose(cmd)
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	return sub
}

// withVariable makes a flag of pflag, with its shorthand, and the variable of the same meaning in its description.
func withVariable(f *flag.Flag) *pflag.Flag {
	p := pflag.PFlagFromGoFlag(f)
	p.Shorthand = shorthands[f.Name]
	if variable := variables[f.Name]; variable != "" {
		p.Usage += " [" + variable + "]"
	}
	return p
}
