package settings

import (
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka/credentials"
)

// Parser parses the text of a setting and stores the value. The text is empty only for settings with EmptyCounts. Errors are created with
// [Invalid].
type Parser func(text string) error

// Into returns a Parser that stores the value that read returns in *place.
func Into[T any](place *T, read func(string) (T, error)) Parser {
	return func(text string) error {
		value, err := read(text)
		if err != nil {
			return err
		}
		*place = value
		return nil
	}
}

// Ignored is a Parser for settings without effect, which are accepted so that manifests of Strimzi work unchanged.
func Ignored(string) error { return nil }

// Text parses a text, without blanks around it.
func Text(text string) (string, error) { return strings.TrimSpace(text), nil }

// Secret parses a secret. It keeps blanks, which may be part of a password.
func Secret(text string) (credentials.Masked, error) { return credentials.Conceal(text), nil }

// Bool parses true or false. It is stricter than Java, for which everything but true is false: a misspelled true must not disable a
// protection.
func Bool(text string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, Invalid("neither true nor false", "use true or false")
}

// negative is Strimzi's text for a number that is too small, 0 included where 0 has no meaning.
const negative = "Failed to parse. Negative value is not supported for this configuration"

// Positive reads a whole number from 1 up.
func Positive(text string) (int, error) {
	n, err := Long(1, math.MaxInt32)(text)
	return int(n), err
}

// Millis returns a function that reads a duration, as a number of milliseconds from least up.
func Millis(least int64) func(string) (time.Duration, error) {
	return func(text string) (time.Duration, error) {
		n, err := Long(least, math.MaxInt64/int64(time.Millisecond))(text)
		return time.Duration(n) * time.Millisecond, err
	}
}

// Duration returns a function that reads a duration as Go writes it, such as 90s or 2m, from least up.
func Duration(least time.Duration) func(string) (time.Duration, error) {
	return func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(strings.TrimSpace(text))
		switch remedy := "use a number and a unit, such as 90s or 2m"; {
		case err != nil:
			return 0, Invalid("not a duration", remedy)
		case d < least && least == 1:
			return 0, Invalid("not more than 0", remedy)
		case d < least:
			return 0, Invalid("less than "+least.String(), remedy)
		}
		return d, nil
	}
}

// Long returns a function that reads a whole number from least to most.
func Long(least, most int64) func(string) (int64, error) {
	return func(text string) (int64, error) {
		remedy := "use a whole number from " + strconv.FormatInt(least, 10) + " to " + strconv.FormatInt(most, 10)
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		switch {
		case err != nil:
			return 0, Invalid("not a whole number, or far too large", remedy)
		case n < least:
			return 0, Invalid(negative, remedy)
		case n > most:
			return 0, Invalid("too large", remedy)
		}
		return n, nil
	}
}

// Bootstrap parses comma-separated host:port addresses of brokers or controllers. Like Kafka's own clients, it ignores a listener's name
// before them.
func Bootstrap(text string) ([]string, error) {
	addresses := []string{}
	for _, entry := range List(text) {
		if _, rest, named := strings.Cut(entry, "://"); named {
			entry = rest
		}
		host, port, err := net.SplitHostPort(entry)
		if err != nil || host == "" || strings.ContainsAny(host, " \t/@") || !validPort(port, 1) {
			return nil, Invalid("not an address: "+entry, "use host:port, or a comma-separated list of them")
		}
		addresses = append(addresses, net.JoinHostPort(host, port))
	}
	if len(addresses) == 0 {
		return nil, Invalid("no address", "use host:port, or a comma-separated list of them")
	}
	return addresses, nil
}

// Address reads an address to listen on.
func Address(text string) (string, error) {
	text = strings.TrimSpace(text)
	host, port, err := net.SplitHostPort(text)
	if err != nil || strings.ContainsAny(host, " \t/@") || !validPort(port, 0) {
		return "", Invalid("not an address to listen on", "use :port or host:port, such as :8080")
	}
	return text, nil
}

// OptionalAddress reads an address to listen on; 0 disables it, as in kubebuilder's operators.
func OptionalAddress(text string) (string, error) {
	if text = strings.TrimSpace(text); text == "" || text == "0" {
		return "", nil
	}
	return Address(text)
}

func validPort(text string, least int) bool {
	port, err := strconv.Atoi(text)
	return err == nil && port >= least && port <= math.MaxUint16
}

// Choice returns a function that reads one of several words, in upper or lower case. kind is what an error calls them, such as policy; it
// lists the legal words in the order given.
func Choice[T ~string](kind string, legal ...T) func(string) (T, error) {
	return func(text string) (T, error) {
		text = strings.TrimSpace(text)
		if at := slices.IndexFunc(legal, func(word T) bool { return strings.EqualFold(string(word), text) }); at >= 0 {
			return legal[at], nil
		}
		words := make([]string, len(legal))
		for i, word := range legal {
			words[i] = string(word)
		}
		return "", Invalid("unknown "+kind, "use "+strings.Join(words, " or "))
	}
}

// Name reads the name of a Kubernetes object.
func Name(text string) (string, error) {
	text = strings.TrimSpace(text)
	return text, checkObjectName(text)
}

// Namespace reads the name of one namespace.
func Namespace(text string) (string, error) {
	text = strings.TrimSpace(text)
	return text, checkNamespace(text)
}
