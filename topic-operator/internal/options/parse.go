package options

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka/credentials"
)

// PodNamespace is the variable that names the namespace the operator runs in, as the downward API usually sets it. InPod derives it.
const PodNamespace = "POD_NAMESPACE"

// podNamespaceFile is where Kubernetes tells a pod its namespace.
const podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// InPod completes an environment with what Kubernetes tells a pod through files: where POD_NAMESPACE is unset, the namespace of the
// service account. Outside of a pod it changes nothing.
func InPod(lookup func(string) (string, bool), readFile func(string) ([]byte, error)) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := lookup(name)
		if name != PodNamespace || value != "" {
			return value, ok
		}
		content, err := readFile(podNamespaceFile)
		if err != nil {
			return value, ok
		}
		return strings.TrimSpace(string(content)), true
	}
}

// Parse reads the options from flags (without the program's name) and environment. lookup answers for one variable, environ lists all
// of them as NAME=value, so that unknown ones can be told. The strings are warnings, for the log.
//
// The error holds everything that is wrong, not just the first thing. It is flag.ErrHelp if help was asked for; see Help.
func Parse(args []string, lookup func(string) (string, bool), environ []string) (Options, []string, error) {
	d := &draft{lookup: lookup, failed: map[string]bool{}, given: map[string]bool{}}
	groups := table(d)
	flags, err := parseFlags(groups, args)
	if errors.Is(err, flag.ErrHelp) {
		return Options{}, nil, flag.ErrHelp
	}
	if err != nil {
		d.errs = append(d.errs, err)
	}
	d.errs = append(d.errs, duplicates(environ)...)
	for _, g := range groups {
		for _, s := range g.settings {
			d.read(s, flags)
		}
	}
	d.complete()
	// A misspelt name is often why something else is missing, so this is told beside errors too.
	warnings := append(d.warnings, unknownVariables(groups, environ)...)
	if err := errors.Join(d.errs...); err != nil {
		return Options{}, warnings, err
	}
	return d.Options, warnings, nil
}

// draft is Options in the making, with what is needed on the way only.
type draft struct {
	Options
	saslEnabled bool
	mechanism   string
	customJSON  Masked

	lookup   func(string) (string, bool)
	warnings []string
	errs     []error
	// given are the variables of settings that have a value other than their default.
	given map[string]bool
	// failed are the variables of settings whose value could not be read; what depends on them is not checked.
	failed map[string]bool
}

// ok reports whether all these settings could be read.
func (d *draft) ok(envs ...string) bool {
	return !slices.ContainsFunc(envs, func(env string) bool { return d.failed[env] })
}

func (d *draft) warn(format string, args ...any) {
	d.warnings = append(d.warnings, fmt.Sprintf(format, args...))
}

// contradiction adds an error about a value that does not go with others.
func (d *draft) contradiction(env, value, problem, remedy string) {
	d.errs = append(d.errs, &SettingError{Setting: env, Value: value, Problem: problem, Remedy: remedy})
}

// read finds a setting's text and hands it to the setting's parser.
func (d *draft) read(s setting, flags map[string]string) {
	name, text, given := s.env, "", false
	if value, ok := flags[s.flagName()]; ok && !s.secret {
		name, text, given = "--"+s.flagName(), value, true
	} else if value, ok := d.lookup(s.env); ok && !isServiceLink(s.env, value) {
		text, given = value, true
	}
	if given && !s.emptyCounts && strings.TrimSpace(text) == "" {
		given = false
	}
	switch {
	case given:
		d.given[s.env] = true
	case s.mandatory:
		d.fail(s.env, &MissingError{Setting: s.env, Flag: "--" + s.flagName()})
		return
	case s.fallback == "":
		return
	default:
		text = s.fallback
	}
	shown := text
	if s.secret {
		shown = credentials.Mask
	}
	d.record(s.env, shown)
	if err := s.parse(text); err != nil {
		d.fail(s.env, settingError(name, shown, err))
	}
}

func (d *draft) fail(env string, err error) {
	d.failed[env] = true
	d.errs = append(d.errs, err)
}

// settingError names the setting in whatever a parser found.
func settingError(name, shown string, err error) error {
	var v *valueError
	if errors.As(err, &v) {
		return &SettingError{Setting: name, Value: shown, Problem: v.Problem, Remedy: v.Remedy}
	}
	return fmt.Errorf("%s: %w", name, err)
}

// duplicates finds settings that an environment holds twice; which one counts would depend on the reader.
func duplicates(environ []string) []error {
	var errs []error
	seen := map[string]int{}
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if seen[name]++; seen[name] == 2 && strings.HasPrefix(name, envPrefix) {
			errs = append(errs, &DuplicateError{Setting: name})
		}
	}
	return errs
}

// complete derives what was not given, and checks what belongs together.
func (d *draft) complete() {
	home := d.home()
	d.derive(envClusterNamespace, &d.SecretNamespace, home)
	d.derive(envClientID, &d.ClientID, "strimzi-topic-operator-"+uuid())
	d.completeTLS()
	d.completeSASL()
	d.completeProtocol()
	d.warnOfClearText()
	d.completeLeaderElection(home)
	if d.PprofAddress != "" && d.PprofAddress == d.HTTPAddress {
		d.contradiction(envPprofAddress, d.PprofAddress, "the same as "+envHTTPAddress, "use another port")
	}
}

// derive sets what was not given to what follows from other settings.
func (d *draft) derive(env string, place *string, value string) {
	if *place == "" {
		*place = value
		d.record(env, value)
	}
}

// record keeps a setting's text for String.
func (d *draft) record(env, shown string) {
	d.settings = append(d.settings, fmt.Sprintf("%s=%q", env, shown))
}

// home is the namespace of what belongs to the operator itself.
func (d *draft) home() string {
	if pod, _ := d.lookup(PodNamespace); namespacePattern.MatchString(pod) {
		return pod
	}
	if len(d.Namespaces.Names) > 0 {
		return d.Namespaces.Names[0]
	}
	return "default"
}

func (d *draft) completeLeaderElection(home string) {
	e := &d.LeaderElection
	sum := sha256.Sum256([]byte(d.Namespaces.String() + "\n" + d.Selector.String()))
	d.derive(envLeaseName, &e.Name, "strimzi-topic-operator-"+hex.EncodeToString(sum[:4]))
	d.derive(envLeaseNamespace, &e.Namespace, home)
	if d.ok(envLeaseDuration, envRenewDeadline) && e.LeaseDuration <= e.RenewDeadline {
		d.contradiction(envRenewDeadline, fmt.Sprint(e.RenewDeadline.Milliseconds()),
			fmt.Sprintf("not less than %s (%d)", envLeaseDuration, e.LeaseDuration.Milliseconds()), "a leader must stop before others take over: lower it")
	}
	// client-go adds up to 20 % to the period.
	if d.ok(envRetryPeriod, envRenewDeadline) && float64(e.RenewDeadline) <= 1.2*float64(e.RetryPeriod) {
		d.contradiction(envRetryPeriod, fmt.Sprint(e.RetryPeriod.Milliseconds()),
			fmt.Sprintf("1.2 times it is not less than %s (%d)", envRenewDeadline, e.RenewDeadline.Milliseconds()), "leave room for more than one try: lower it")
	}
}

// uuid returns a random UUID (version 4).
func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, says crypto/rand
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
