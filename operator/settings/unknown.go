package settings

import (
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// CommonHints returns hints about variables that Strimzi's users set for any operator, and that Strimzi's operators do not read either.
func CommonHints() map[string]string {
	stores := "PKCS12 stores are not supported: put PEM certificates in Secrets and name them with STRIMZI_TLS_TRUSTED_CERTS_SECRET_NAME " +
		"and " +
		"STRIMZI_TLS_SECRET_NAME"
	return map[string]string{
		"STRIMZI_TLS_ENABLED": "TLS is switched on by naming a Secret (STRIMZI_TLS_TRUSTED_CERTS_SECRET_NAME, STRIMZI_TLS_SECRET_NAME) " +
			"or by STRIMZI_SECURITY_PROTOCOL=SSL: remove it",
		"STRIMZI_TRUSTSTORE_SECRET_NAME":     "use STRIMZI_TLS_TRUSTED_CERTS_SECRET_NAME",
		"STRIMZI_KEYSTORE_SECRET_NAME":       "use STRIMZI_TLS_SECRET_NAME",
		"STRIMZI_TRUSTSTORE_LOCATION":        stores,
		"STRIMZI_TRUSTSTORE_PASSWORD":        stores,
		"STRIMZI_KEYSTORE_LOCATION":          stores,
		"STRIMZI_KEYSTORE_PASSWORD":          stores,
		"STRIMZI_PUBLIC_CA":                  "use STRIMZI_SECURITY_PROTOCOL=SSL without STRIMZI_TLS_TRUSTED_CERTS_SECRET_NAME",
		"STRIMZI_TLS_AUTH_ENABLED":           "mTLS is switched on by STRIMZI_TLS_SECRET_NAME: remove it",
		"STRIMZI_RECONCILIATION_INTERVAL_MS": "use STRIMZI_FULL_RECONCILIATION_INTERVAL_MS",
	}
}

// unknownVariables returns warnings about unknown variables that look like settings.
func (t Table) unknownVariables(variables []string) []string {
	known := map[string]bool{}
	t.each(func(s Setting) { known[s.Env] = true })
	var warnings []string
	for _, entry := range variables {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case known[name]:
		case isServiceLink(name, value):
		case t.Hints[name] != "":
			warnings = append(warnings, fmt.Sprintf("%s has no effect: %s", name, t.Hints[name]))
		case !strings.HasPrefix(name, Prefix):
		default:
			warnings = append(warnings, fmt.Sprintf("%s has no effect: there is no such setting%s", name, didYouMean(name, known)))
		}
	}
	slices.Sort(warnings)
	return warnings
}

// didYouMean names the setting that a misspelled name most likely means.
func didYouMean(name string, known map[string]bool) string {
	if best := Nearest(name, maps.Keys(known), 3); best != "" {
		return "; did you mean " + best + "?"
	}
	return ""
}

// Nearest returns the name that a misspelled one most likely means: the most similar one, if at most that many letters differ.
func Nearest(name string, known iter.Seq[string], most int) (best string) {
	least := most + 1
	for candidate := range known {
		if d := distance(name, candidate); d < least || d == least && best != "" && candidate < best {
			best, least = candidate, d
		}
	}
	return best
}

// distance is the number of letters to add, drop or change between two words (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

var (
	linkName  = regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)
	linkValue = regexp.MustCompile(`^(tcp|udp|sctp)://`)
)

// isServiceLink detects variables that Kubernetes sets in each pod for each Service: a Service named strimzi-cruise-control results in
// STRIMZI_CRUISE_CONTROL_PORT=tcp://10.0.0.1:9090, which no user set on purpose.
func isServiceLink(name, value string) bool {
	if !linkName.MatchString(name) {
		return false
	}
	return !strings.HasSuffix(name, "_PORT") || linkValue.MatchString(value) || strings.HasSuffix(name, "_SERVICE_PORT") ||
		strings.Contains(name, "_PORT_")
}
