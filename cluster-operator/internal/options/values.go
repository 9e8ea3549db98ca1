package options

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// reference is the form of an image: a registry, a path in lower case, a tag and a digest. A kubelet rejects anything else.
var reference = regexp.MustCompile(`^([A-Za-z0-9.:\[\]-]+/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*` +
	`(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@[A-Za-z0-9+._-]+:[0-9a-fA-F]{32,})?$`)

// image reads the reference of an image.
func image(text string) (string, error) {
	text = strings.TrimSpace(text)
	if !reference.MatchString(text) {
		return "", settings.Invalid("not an image: "+text, "use a reference such as registry.example.com/team/image:1.0")
	}
	return text, nil
}

// exporterImage reads an image, OwnImage or NoImage.
func exporterImage(text string) (string, error) {
	for _, word := range []string{OwnImage, NoImage} {
		if strings.EqualFold(strings.TrimSpace(text), word) {
			return word, nil
		}
	}
	return image(text)
}

// version is how a version of Kafka begins.
var version = regexp.MustCompile(`^[0-9]+\.[0-9]+`)

// images reads STRIMZI_KAFKA_IMAGES: version=image, separated by white space.
func images(text string) (map[string]string, error) {
	const remedy = "use version=image, such as 4.3.1=docker.io/apache/kafka:4.3.1"
	all := map[string]string{}
	for _, entry := range strings.Fields(text) {
		key, value, found := strings.Cut(entry, "=")
		switch {
		case !found || key == "" || value == "":
			return nil, settings.Invalid(entry+" is not version=image", remedy)
		case !version.MatchString(key):
			return nil, settings.Invalid("not a version of Kafka: "+key, remedy)
		case all[key] != "":
			return nil, settings.Invalid("two images for "+key, "list each version once")
		}
		checked, err := image(value)
		if err != nil {
			return nil, err
		}
		all[key] = checked
	}
	if len(all) == 0 {
		return nil, settings.Invalid("the image is missing", remedy)
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

// pullSecrets reads names of Secrets, separated by commas or white space. Kubernetes allows each name once in a pod.
func pullSecrets(text string) ([]string, error) {
	var names []string
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		if _, err := settings.Name(name); err != nil {
			return nil, err
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
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

// domain reads a DNS domain, the end of host names in certificates and in what nodes advertise.
func domain(text string) (string, error) {
	text, err := settings.Name(text)
	if err != nil {
		return "", settings.Invalid("not a DNS domain",
			"use lower-case letters, digits, - and ., with no dot at either end, such as cluster.local")
	}
	return text, nil
}

func pattern(text string) (func(string) bool, error) {
	if text = strings.TrimSpace(text); text == "" {
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
