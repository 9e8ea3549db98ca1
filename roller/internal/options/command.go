package options

import (
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// Surroundings is the environment of a command line.
type Surroundings struct {
	// Program is the path with which the program was called. As kubectl-roller it is a plugin of kubectl.
	Program string
	// Version is the output of --version.
	Version string
	// Env looks up environment variables.
	Env func(name string) (string, bool)
	// Variables lists all variables as NAME=value, to find misspelled names. It may be empty.
	Variables []string
	// Namespace returns the namespace of a context, for commands without one; empty if the context has none. The error says why there is no
	// such context.
	Namespace func(Connection) (string, error)
	// Out receives help and completions.
	Out io.Writer
}

const (
	long = `roller restarts the nodes of a Kafka cluster as fast as is safe.

A flag with a variable in brackets can also be set by that variable; the flag takes precedence.

plan and explain exit with 0 if there is nothing to do and all nodes are ready, 3 if there is something to do or a node is not ready yet,
4 if something is blocked, the roller is paused, or a node has failed or is unknown, 1 on errors, 2 on wrong usage.
roll exits with 0 when all is done, and with 4 when it can't continue.`
	examples = `  roller plan -n kafka --cluster my-cluster        # what would be restarted, and in which order
  roller explain NODE -n kafka --cluster my-cluster  # what one node waits for
  roller roll -n kafka --cluster my-cluster        # show the plan, ask, and do it`
)

// command is a subcommand with its description, and the flags that only it has; all other flags belong to every command.
type command struct {
	use, short string
	flags      []string
}

var commands = []command{
	{"plan", "Show which nodes would be restarted, in which order and batches, and what blocks others", []string{"output"}},
	{"explain NODE", "Show all that is known of one node, by its id or its pod's name", []string{"output"}},
	{"roll", "Restart all nodes that need it, and show the progress", []string{"limit", "yes"}},
	{"run", "Run as a Deployment: watch, and restart nodes that need it",
		[]string{"http-address", "pprof-bind-address", "leader-elect", "leader-election-lease-name", "leader-election-lease-namespace",
			"leader-election-identity", "leader-election-lease-duration-ms", "leader-election-renew-deadline-ms",
			"leader-election-retry-period-ms", "log-level", "log-format", "log-json"}},
}

var shorthands = map[string]string{"namespace": "n", "output": "o"}

// Parse reads a command line (without the program's name) and the environment. The strings are warnings, for the log.
//
// The error lists all problems. It is flag.ErrHelp if help, completion or the version was requested, or no command was given, and Parse
// printed that.
func Parse(args []string, in Surroundings) (Options, []string, error) {
	d := newDraft()
	table := d.table()
	set := table.FlagSet()
	root := d.commandLine(table, set)
	if strings.HasPrefix(filepath.Base(in.Program), "kubectl-") {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl roller"}
	}
	root.Version = in.Version
	root.SetVersionTemplate("roller {{.Version}}\n")
	root.SetArgs(args)
	root.SetOut(in.Out)
	switch err := root.Execute(); {
	case err != nil:
		return Options{}, nil, err
	case d.Command == "":
		return Options{}, nil, flag.ErrHelp
	}
	r := table.Read(set, settings.Environment{Lookup: in.Env, Variables: in.Variables})
	d.complete(r, in.Namespace)
	if err := r.Err(); err != nil {
		return Options{}, r.Warnings(), err
	}
	d.Effective = r.String()
	return d.Options, r.Warnings(), nil
}

// commandLine creates the commands, with the flags of the table.
func (d *draft) commandLine(table settings.Table, set *flag.FlagSet) *cobra.Command {
	root := &cobra.Command{
		Use: "roller", Short: "Restart the nodes of Kafka clusters safely", Long: long, Example: examples, SilenceErrors: true,
		SilenceUsage: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q: see --help", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "leader-election" { // its former name
			name = "leader-elect"
		}
		return pflag.NormalizedName(name)
	})
	flags := map[string]*pflag.Flag{}
	for _, f := range flagsOf(table, set) {
		flags[f.Name] = f
		if !slices.ContainsFunc(commands, func(c command) bool { return slices.Contains(c.flags, f.Name) }) {
			root.PersistentFlags().AddFlag(f) // of all commands
		}
	}
	for _, c := range commands {
		sub := d.subcommand(c)
		d.Connection.addTo(sub.Flags(), sub.Name())
		for _, name := range c.flags {
			sub.Flags().AddFlag(flags[name])
			if name == "output" {
				_ = sub.RegisterFlagCompletionFunc(name, formats) // fails only for flags that do not exist
			}
		}
		root.AddCommand(sub)
	}
	return root
}

// flagsOf returns the flags of the settings; a secret has none.
func flagsOf(table settings.Table, set *flag.FlagSet) (flags []*pflag.Flag) {
	for _, g := range table.Groups {
		for _, s := range g.Settings {
			if !s.Secret {
				flags = append(flags, flagOf(s, set))
			}
		}
	}
	return flags
}

func formats(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp
}

func (d *draft) subcommand(c command) *cobra.Command {
	name, _, node := strings.Cut(c.use, " ")
	sub := &cobra.Command{
		Use: c.use, Short: c.short,
		Args: func(_ *cobra.Command, args []string) error {
			if node && len(args) > 0 {
				d.Node, args = args[0], args[1:]
			}
			if len(args) > 0 {
				return fmt.Errorf("unknown argument %q: flags begin with --, see --help", args[0])
			}
			return nil
		},
		Run:               func(*cobra.Command, []string) { d.Command = name },
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	return sub
}

// flagOf returns the flag of a setting for pflag, with its shorthand, and with default and variable in its description.
func flagOf(s settings.Setting, set *flag.FlagSet) *pflag.Flag {
	p := pflag.PFlagFromGoFlag(set.Lookup(s.FlagName()))
	p.Shorthand = shorthands[p.Name]
	if def := s.DefaultText(); def != "" && def != "none" && !s.Boolean {
		p.Usage += " Default: " + strings.ReplaceAll(def, "`", "") + "."
	}
	if s.Env != "" {
		p.Usage += " [" + s.Env + "]"
	}
	return p
}
