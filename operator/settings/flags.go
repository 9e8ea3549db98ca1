package settings

import (
	"flag"
	"io"
	"strings"
)

// text is the unparsed value of a flag: Read parses it, so that one invalid flag does not hide the next.
type text struct {
	value   string
	times   int
	boolean bool
}

// String returns the text. It implements flag.Value.
func (t *text) String() string { return t.value }

// Set stores the text. It implements flag.Value.
func (t *text) Set(value string) error {
	t.value = value
	t.times++
	return nil
}

// Type returns the type of the value for the help of a pflag command line.
func (t *text) Type() string {
	if t.boolean {
		return "bool"
	}
	return "value"
}

// IsBoolFlag reports whether the flag needs no value.
func (t *text) IsBoolFlag() bool { return t.boolean }

// FlagSet returns the flags of the settings, for [Table.Read] after they were parsed. A cobra command accepts them with
// cmd.Flags().AddGoFlagSet. Secret settings have no flag.
func (t Table) FlagSet() *flag.FlagSet {
	set := flag.NewFlagSet(t.Program, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	t.each(func(s Setting) {
		if !s.Secret {
			set.Var(&text{boolean: s.Boolean}, s.FlagName(), strings.ReplaceAll(s.Doc, "`", ""))
		}
	})
	return set
}

// flagText returns the text that was given for a flag.
func flagText(set *flag.FlagSet, s Setting) (value string, times int) {
	if set == nil || s.Secret {
		return "", 0
	}
	f := set.Lookup(s.FlagName())
	if f == nil {
		return "", 0
	}
	given, ok := f.Value.(*text)
	if !ok {
		return "", 0
	}
	return given.value, given.times
}
