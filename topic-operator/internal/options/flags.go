package options

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// given is a flag's value as text. Reading it is left to the setting's parser, so that one wrong flag does not hide the next.
type given struct {
	text    string
	times   int
	boolean bool
}

// String returns the text.
func (g *given) String() string { return g.text }

// Set takes the text.
func (g *given) Set(text string) error {
	g.text = text
	g.times++
	return nil
}

// IsBoolFlag tells package flag whether the flag may stand without a value.
func (g *given) IsBoolFlag() bool { return g.boolean }

// parseFlags returns the texts of the flags that were given, by flag name.
func parseFlags(groups []group, args []string) (map[string]string, error) {
	set := flag.NewFlagSet("topic-operator", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	values := map[string]*given{}
	for _, g := range groups {
		for _, s := range g.settings {
			if s.secret {
				continue
			}
			v := &given{boolean: s.boolean}
			values[s.flagName()] = v
			set.Var(v, s.flagName(), s.help)
		}
	}
	err := set.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil, flag.ErrHelp
	}
	errs := []error{}
	switch {
	case err != nil:
		errs = append(errs, fmt.Errorf("%w; --help lists the flags (passwords have none, because everybody on a machine can read command lines)", err))
	case set.NArg() > 0 && set.NArg() == len(args): // it is the first one, where a subcommand stands
		errs = append(errs, fmt.Errorf("unknown subcommand: %q; --help lists the subcommands and the flags, which are written --flag=value", set.Arg(0)))
	case set.NArg() > 0:
		errs = append(errs, fmt.Errorf("argument without a flag: %q; write --flag=value, also for true and false", set.Arg(0)))
	}
	texts := map[string]string{}
	for _, g := range groups {
		for _, s := range g.settings {
			v, ok := values[s.flagName()]
			if !ok || v.times == 0 {
				continue
			}
			texts[s.flagName()] = v.text
			if v.times > 1 {
				errs = append(errs, &DuplicateError{Setting: "--" + s.flagName()})
			}
		}
	}
	return texts, errors.Join(errs...)
}
