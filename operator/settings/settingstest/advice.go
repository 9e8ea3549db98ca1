package settingstest

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kafka-operators/kafka-operators/kafka/credentials"
	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// wrong are texts of which each setting rejects some, or takes anything.
var wrong = []string{"?", "-1", "99999999999999999999", "1:?", "a=b=c", "("}

var (
	literal  = regexp.MustCompile("`([^`]+)`")
	bounds   = regexp.MustCompile(`\bfrom (\S+) to (\S+)`)
	examples = regexp.MustCompile(`\bsuch as (.+)`)
	list     = regexp.MustCompile(`,? or |, `)
	// others are literals that are never values: names of variables, flags, paths and endings, and placeholders.
	others = regexp.MustCompile(`^(STRIMZI_|--|/|\.|<)|^host:port$`)
)

// CheckAdvice fails if a setting rejects its own default, or a value that its error or its documentation recommends. terms are what the
// documentation of a setting has in backquotes and is no value of it.
func CheckAdvice(t testing.TB, table settings.Table, terms ...string) {
	t.Helper()
	found := 0
	for _, group := range table.Groups {
		for _, s := range group.Settings {
			advised := advisedBy(s, terms)
			found += len(advised)
			if s.Default != "" {
				advised = append(advised, s.Default)
			}
			slices.Sort(advised)
			for _, value := range slices.Compact(advised) {
				if err := s.Parse(value); err != nil {
					t.Errorf("%s --%s rejects %q, which it recommends: %v", s.Env, s.FlagName(), value, err)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no setting recommends a value: is this how errors are written?")
	}
}

// advisedBy returns the values that a setting recommends. One that takes anything recommends none.
func advisedBy(s settings.Setting, terms []string) (values []string) {
	rejects := false
	for _, text := range wrong {
		err := s.Parse(text)
		rejects = rejects || err != nil
		if invalid := (*credentials.Invalid)(nil); errors.As(err, &invalid) {
			values = append(values, valuesOf(invalid.Remedy)...)
		}
	}
	if !rejects {
		return nil
	}
	for _, match := range literal.FindAllStringSubmatch(s.Doc, -1) {
		if !others.MatchString(match[1]) && !slices.Contains(terms, match[1]) {
			values = append(values, match[1])
		}
	}
	return values
}

// valuesOf returns the values in a remedy: the ends of a range, examples, or the words of a list.
func valuesOf(remedy string) (values []string) {
	remedy, _, _ = strings.Cut(remedy, ";")
	if match := bounds.FindStringSubmatch(remedy); match != nil {
		return match[1:]
	}
	words, is := strings.CutPrefix(remedy, "use ")
	if match := examples.FindStringSubmatch(remedy); match != nil {
		words, is = match[1], true
	}
	if !is {
		return nil
	}
	for _, word := range list.Split(words, -1) {
		if strings.Contains(word, " ") { // prose
			break
		}
		if !others.MatchString(word) {
			values = append(values, word)
		}
	}
	return values
}
