package options

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// hints say what to do about variables that people set, and that nothing reads.
func hints() map[string]string {
	stores := "PKCS12 stores are not read: put PEM certificates in Secrets and name them with " + envTrustSecret + " and " + envIdentitySecret
	gone := "it belongs to an operator that worked in both directions, and has had no meaning since: remove it"
	return map[string]string{
		"STRIMZI_TLS_ENABLED":                       "TLS is switched on by naming a Secret (" + envTrustSecret + ", " + envIdentitySecret + ") or by " + envProtocol + "=SSL: remove it",
		"STRIMZI_TRUSTSTORE_SECRET_NAME":            "use " + envTrustSecret,
		"STRIMZI_KEYSTORE_SECRET_NAME":              "use " + envIdentitySecret,
		"STRIMZI_TRUSTSTORE_LOCATION":               stores,
		"STRIMZI_TRUSTSTORE_PASSWORD":               stores,
		"STRIMZI_KEYSTORE_LOCATION":                 stores,
		"STRIMZI_KEYSTORE_PASSWORD":                 stores,
		"STRIMZI_PUBLIC_CA":                         "use " + envProtocol + "=SSL without " + envTrustSecret,
		"STRIMZI_TLS_AUTH_ENABLED":                  "mTLS is switched on by " + envIdentitySecret + ": remove it",
		"STRIMZI_USE_ZOOKEEPER_TOPIC_STORE":         gone,
		"STRIMZI_ZOOKEEPER_CONNECT":                 gone,
		"STRIMZI_ZOOKEEPER_SESSION_TIMEOUT_MS":      gone,
		"STRIMZI_TOPIC_METADATA_MAX_ATTEMPTS":       gone,
		"STRIMZI_TOPICS_PATH":                       gone,
		"STRIMZI_STORE_TOPIC":                       gone,
		"STRIMZI_STORE_NAME":                        gone,
		"STRIMZI_APPLICATION_ID":                    gone,
		"STRIMZI_STALE_RESULT_TIMEOUT_MS":           gone,
		"STRIMZI_REASSIGN_THROTTLE":                 gone,
		"STRIMZI_REASSIGN_VERIFY_INTERVAL_MS":       gone,
		"STRIMZI_MAX_BATCH_LINGER":                  "use STRIMZI_MAX_BATCH_LINGER_MS",
		"STRIMZI_RECONCILIATION_INTERVAL_MS":        "use STRIMZI_FULL_RECONCILIATION_INTERVAL_MS",
		"STRIMZI_CRUISE_CONTROL_TRUSTSTORE_ENABLED": "Cruise Control is not supported yet: remove it",
	}
}

// unknownVariables warns of variables that look like settings, and are none.
func unknownVariables(groups []group, environ []string) []string {
	known := map[string]bool{}
	for _, g := range groups {
		for _, s := range g.settings {
			known[s.env] = true
		}
	}
	var warnings []string
	special := hints()
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case known[name]:
		case known[envPrefix+name] && strings.HasPrefix(name, "MAX_BATCH_"):
			// Strimzi's documentation names the variable so, its code never read it.
			warnings = append(warnings, fmt.Sprintf("%s has no effect: use %s%s", name, envPrefix, name))
		case !strings.HasPrefix(name, envPrefix) || isServiceLink(name, value):
		case special[name] != "":
			warnings = append(warnings, fmt.Sprintf("%s has no effect: %s", name, special[name]))
		default:
			warnings = append(warnings, fmt.Sprintf("%s has no effect: there is no such setting%s", name, didYouMean(name, known)))
		}
	}
	slices.Sort(warnings)
	return warnings
}

// didYouMean finds a setting that a misspelling was meant for.
func didYouMean(name string, known map[string]bool) string {
	best, least := "", 4
	for candidate := range known {
		if d := distance(name, candidate); d < least || d == least && best != "" && candidate < best {
			best, least = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
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

// isServiceLink recognizes variables that Kubernetes sets in each pod for each Service: one named strimzi-cruise-control makes a
// STRIMZI_CRUISE_CONTROL_PORT=tcp://10.0.0.1:9090, which nobody gave and nobody should be told of.
func isServiceLink(name, value string) bool {
	if !linkName.MatchString(name) {
		return false
	}
	return !strings.HasSuffix(name, "_PORT") || linkValue.MatchString(value) || strings.HasSuffix(name, "_SERVICE_PORT") || strings.Contains(name, "_PORT_")
}
