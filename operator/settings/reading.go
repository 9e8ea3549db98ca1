package settings

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka/credentials"
)

// ErrVersion is the error for a command line that asks for the version of the program.
var ErrVersion = errors.New("version requested")

// Environment is the source of settings besides the command line.
type Environment struct {
	// Lookup returns the value of one variable, such as os.LookupEnv; see [InPod].
	Lookup func(name string) (string, bool)
	// Variables lists all variables as NAME=value, as os.Environ does, to find misspelled names. It may be empty.
	Variables []string
}

// Reading is the result of reading a Table: the parsers have stored the values, and the Reading contains the problems. Callers then use its
// methods to derive and check settings that depend on each other, and call Err at the end.
type Reading struct {
	lookup   func(string) (string, bool)
	texts    []string
	warnings []string
	unknown  []string
	errs     []error
	given    map[string]bool
	failed   map[string]bool
}

// Parse parses a command line without the program's name, and reads the settings. It returns flag.ErrHelp or ErrVersion if the command line
// asks for these; the Reading contains all other problems.
func (t Table) Parse(args []string, env Environment) (*Reading, error) {
	set := t.FlagSet()
	version := set.Bool("version", false, "print the version of the program")
	err := set.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil, flag.ErrHelp
	case err == nil && *version:
		return nil, ErrVersion
	}
	r := t.Read(set, env)
	switch {
	case err != nil:
		r.errs = append(r.errs, fmt.Errorf("%w; --help lists the flags (passwords have none, because others can read command lines)", err))
	case set.NArg() > 0 && set.NArg() == len(args): // it is first, where a subcommand is expected
		r.errs = append(r.errs, fmt.Errorf("unknown subcommand: %q; --help lists the subcommands and the flags, which are written --flag=value",
			set.Arg(0)))
	case set.NArg() > 0:
		r.errs = append(r.errs, fmt.Errorf("argument without a flag: %q; write --flag=value, also for true and false", set.Arg(0)))
	}
	return r, nil
}

// Read reads the settings from parsed flags (of [Table.FlagSet]; nil for none) and the environment.
func (t Table) Read(flags *flag.FlagSet, env Environment) *Reading {
	r := &Reading{lookup: env.Lookup, given: map[string]bool{}, failed: map[string]bool{}, unknown: t.unknownVariables(env.Variables)}
	r.errs = append(r.errs, duplicates(env.Variables)...)
	t.each(func(s Setting) { r.read(s, flags, t.LastFlagCounts) })
	return r
}

// read finds a setting's text and parses it.
func (r *Reading) read(s Setting, flags *flag.FlagSet, lastFlagCounts bool) {
	name, value, given := s.name(), "", false
	if v, times := flagText(flags, s); times > 0 {
		name, value, given = "--"+s.FlagName(), v, true
		if times > 1 && !lastFlagCounts {
			r.errs = append(r.errs, &DuplicateError{Setting: name})
		}
	} else if v, ok := r.lookup(s.Env); ok && s.Env != "" && !isServiceLink(s.Env, v) {
		value, given = v, true
	}
	if given && !s.EmptyCounts && strings.TrimSpace(value) == "" {
		given = false
	}
	switch {
	case given:
		r.given[s.name()] = true
	case s.Mandatory:
		r.Fail(s.name(), &MissingError{Setting: s.name(), Flag: "--" + s.FlagName()})
		return
	case s.Default == "":
		return
	default:
		value = s.Default
	}
	shown := value
	if s.Secret {
		shown = credentials.Mask
	}
	r.record(s.name(), shown)
	if err := s.Parse(value); err != nil {
		r.Fail(s.name(), Named(name, shown, err))
	}
}

// Given reports whether the setting has a value other than its default from outside. For a setting without a variable, env is its flag,
// with dashes.
func (r *Reading) Given(env string) bool { return r.given[env] }

// OK reports whether all these settings were parsed. Settings that depend on an invalid one are not worth checking.
func (r *Reading) OK(envs ...string) bool {
	return !slices.ContainsFunc(envs, func(env string) bool { return r.failed[env] })
}

// Derive sets a setting that was not given to a value that follows from others.
func (r *Reading) Derive(env string, place *string, value string) {
	if *place == "" {
		*place = value
		r.record(env, value)
	}
}

// Record adds a setting with a derived value to String.
func (r *Reading) Record(env, value string) { r.record(env, value) }

func (r *Reading) record(env, shown string) {
	r.texts = append(r.texts, fmt.Sprintf("%s=%q", env, shown))
}

// Warn adds a warning, for the log.
func (r *Reading) Warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// Reject adds an error about a setting whose value contradicts others: the problem, and the remedy.
func (r *Reading) Reject(env, value, problem, remedy string) {
	r.errs = append(r.errs, &Error{Setting: env, Value: value, Problem: problem, Remedy: remedy})
}

// Fail adds an error about a setting, and marks the setting as invalid.
func (r *Reading) Fail(env string, err error) {
	r.failed[env] = true
	r.errs = append(r.errs, err)
}

// Warnings returns warnings about settings with a surprising meaning, and about unknown variables that look like settings. They are useful
// beside errors too: a misspelled name is often the reason why a setting is missing.
func (r *Reading) Warnings() []string { return slices.Concat(r.warnings, r.unknown) }

// Err returns all problems, joined, or nil. It contains *Error, *MissingError and *DuplicateError.
func (r *Reading) Err() error { return errors.Join(r.errs...) }

// String lists the settings that have a value as NAME="value", in one line, with secrets masked.
func (r *Reading) String() string { return strings.Join(r.texts, " ") }

// duplicates returns errors about variables that an environment contains twice. Programs differ in which one they use.
func duplicates(variables []string) []error {
	var errs []error
	seen := map[string]int{}
	for _, entry := range variables {
		name, _, _ := strings.Cut(entry, "=")
		if seen[name]++; seen[name] == 2 && strings.HasPrefix(name, Prefix) {
			errs = append(errs, &DuplicateError{Setting: name})
		}
	}
	return errs
}
