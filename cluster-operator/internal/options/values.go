package options

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// images reads STRIMZI_KAFKA_IMAGES: version=image, separated by white space.
func images(text string) (map[string]string, error) {
	all := map[string]string{}
	for _, entry := range strings.Fields(text) {
		version, image, found := strings.Cut(entry, "=")
		if !found || version == "" || image == "" {
			return nil, fmt.Errorf("%q is not version=image, such as 4.3.1=docker.io/apache/kafka:4.3.1", entry)
		}
		all[version] = image
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("the image is missing: use version=image, such as 4.3.1=docker.io/apache/kafka:4.3.1")
	}
	return all, nil
}

// Words of STRIMZI_ROLLER_SERVICE_ACCOUNT.
const (
	ownRoller = "own"
	noRoller  = "none"
)

// rollerAccount reads namespace/name, ownRoller, or noRoller, which it returns as "".
func rollerAccount(text string) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case strings.EqualFold(text, ownRoller):
		return ownRoller, nil
	case strings.EqualFold(text, noRoller):
		return "", nil
	}
	namespace, name, found := strings.Cut(text, "/")
	if !found {
		return "", settings.Invalid("not namespace/name", "use own, none, or namespace/name")
	}
	namespace, err := settings.Namespace(namespace)
	if err != nil {
		return "", err
	}
	name, err = settings.Name(name)
	return namespace + "/" + name, err
}

func list(text string) ([]string, error) {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }), nil
}

// restricted reads the name of a Pod Security Standard, in upper or lower case, or of Strimzi's class for it.
func restricted(text string) (bool, error) {
	const classes = "io.strimzi.plugin.security.profiles.impl."
	text = strings.TrimSpace(text)
	switch {
	case strings.EqualFold(text, "baseline"), text == classes+"BaselinePodSecurityProvider":
		return false, nil
	case strings.EqualFold(text, "restricted"), text == classes+"RestrictedPodSecurityProvider":
		return true, nil
	}
	return false, settings.Invalid("unknown provider: "+text, "use baseline or restricted; custom classes are not supported")
}

func pattern(text string) (func(string) bool, error) {
	if text == "" {
		return nil, nil
	}
	// Strimzi's own default looks ahead, which RE2 does not; app.kubernetes.io/part-of is never copied here anyway.
	text = strings.ReplaceAll(text, "(?!part-of)", "")
	if _, err := regexp.Compile(text); err != nil {
		return nil, err
	}
	re, err := regexp.Compile("^(?:" + text + ")$") // as Java's Matcher.matches
	if err != nil {
		return nil, err
	}
	return re.MatchString, nil
}
