package settings

import "strings"

// Prefix is the prefix of the variables of settings, except for KUBERNETES_SERVICE_DNS_DOMAIN. Unknown variables without it are not
// reported.
const Prefix = "STRIMZI_"

// Table contains all settings of one program.
type Table struct {
	// Program is the name of the program, and Summary its purpose in one sentence, for --help.
	Program, Summary string
	// Groups are the settings, by topic.
	Groups []Group
	// Hints contains advice about variables that users set and that the program does not read. See [CommonHints].
	Hints map[string]string
	// Subcommands are the usage texts of the program's subcommands, for --help.
	Subcommands []string
	// LastFlagCounts allows a flag to be given more than once, as kubectl does: the last one counts. Otherwise that is an error.
	LastFlagCounts bool
}

// Group is a part of a Table, with a heading in the documentation.
type Group struct {
	Title    string
	Settings []Setting
}

// Setting is one row of a Table.
type Setting struct {
	// Env is the name of the variable. It begins with Prefix, except for KUBERNETES_SERVICE_DNS_DOMAIN. Settings of a single
	// call of a command have only a Flag.
	Env string
	// Flag is the name of the flag, if it does not follow from Env.
	Flag string
	// Default is the text to parse if no value is given. Parse reads it too, so the documented default is the real one.
	Default string
	// DefaultDoc is shown in the documentation instead of Default, if the default depends on something else.
	DefaultDoc string
	// Doc describes the setting, in whole sentences. Backquotes mark literals.
	Doc string
	// Parse stores the value. See [Into].
	Parse Parser
	// Mandatory settings have no default.
	Mandatory bool
	// Secret settings have no flag, because other users of a machine can read command lines, and are masked wherever they are printed.
	Secret bool
	// Added marks settings that Strimzi's operators do not have.
	Added bool
	// EmptyCounts is for settings for which the empty text is a value. For all others, an empty variable counts as not set, because
	// templates write unused settings like that.
	EmptyCounts bool
	// Boolean settings have a flag that needs no value.
	Boolean bool
}

// FlagName returns the name of the flag, without dashes: STRIMZI_MAX_BATCH_SIZE has the flag max-batch-size.
func (s Setting) FlagName() string {
	if s.Flag != "" {
		return s.Flag
	}
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.Env, Prefix)), "_", "-")
}

// name returns the variable, or the flag with its dashes if there is none.
func (s Setting) name() string {
	if s.Env == "" {
		return "--" + s.Flag
	}
	return s.Env
}

// DefaultText returns the default as the documentation shows it.
func (s Setting) DefaultText() string {
	switch {
	case s.Mandatory:
		return "none, mandatory"
	case s.DefaultDoc != "":
		return s.DefaultDoc
	}
	return s.Default
}

// each calls f with each setting, in order.
func (t Table) each(f func(Setting)) {
	for _, g := range t.Groups {
		for _, s := range g.Settings {
			f(s)
		}
	}
}
