package options

import (
	"log/slog"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka/credentials"
)

// A parser reads a setting's text into the place it was made for. The text is never empty unless the setting says that empty has a meaning.
type parser func(text string) error

// into makes a parser of a function from text to value, and of the value's place.
func into[T any](place *T, read func(string) (T, error)) parser {
	return func(text string) error {
		value, err := read(text)
		if err != nil {
			return err
		}
		*place = value
		return nil
	}
}

// ignored reads what has no effect.
func ignored(string) error { return nil }

func readText(text string) (string, error) { return strings.TrimSpace(text), nil }

// readSecret keeps blanks: they may be part of a password.
func readSecret(text string) (Masked, error) { return credentials.Conceal(text), nil }

// readBool is stricter than Java's, for which everything but true is false: a misspelt true must not switch a protection off.
func readBool(text string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, invalid("neither true nor false", "use true or false")
}

// negative is Strimzi's text for a number that is too small, 0 included where 0 has no meaning.
const negative = "Failed to parse. Negative value is not supported for this configuration"

// readPositive reads whole numbers from 1 up.
func readPositive(text string) (int, error) {
	n, err := readLong(1, math.MaxInt32)(text)
	return int(n), err
}

// readMillis reads a duration in milliseconds from least up.
func readMillis(least int64) func(string) (time.Duration, error) {
	return func(text string) (time.Duration, error) {
		n, err := readLong(least, math.MaxInt64/int64(time.Millisecond))(text)
		return time.Duration(n) * time.Millisecond, err
	}
}

func readLong(least, most int64) func(string) (int64, error) {
	return func(text string) (int64, error) {
		remedy := "use a whole number from " + strconv.FormatInt(least, 10) + " to " + strconv.FormatInt(most, 10)
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		switch {
		case err != nil:
			return 0, invalid("not a whole number, or far too large", remedy)
		case n < least:
			return 0, invalid(negative, remedy)
		case n > most:
			return 0, invalid("too large", remedy)
		}
		return n, nil
	}
}

// readBootstrap reads host:port addresses. Kafka's own clients let a listener's name stand before them, and ignore it.
func readBootstrap(text string) ([]string, error) {
	addresses := []string{}
	for _, entry := range splitList(text) {
		if _, rest, named := strings.Cut(entry, "://"); named {
			entry = rest
		}
		host, port, err := net.SplitHostPort(entry)
		if err != nil || host == "" || strings.ContainsAny(host, " \t/@") || !validPort(port, 1) {
			return nil, invalid("not the address of a broker: "+entry, "give host:port, several with commas between")
		}
		addresses = append(addresses, net.JoinHostPort(host, port))
	}
	if len(addresses) == 0 {
		return nil, invalid("it names no broker", "give host:port, several with commas between")
	}
	return addresses, nil
}

// readAddress reads an address to listen on.
func readAddress(text string) (string, error) {
	text = strings.TrimSpace(text)
	host, port, err := net.SplitHostPort(text)
	if err != nil || strings.ContainsAny(host, " \t/@") || !validPort(port, 0) {
		return "", invalid("not an address to listen on", "use :port or host:port, such as :8080")
	}
	return text, nil
}

// readOptionalAddress reads an address to listen on; 0 is how kubebuilder's operators say off.
func readOptionalAddress(text string) (string, error) {
	if text = strings.TrimSpace(text); text == "" || text == "0" {
		return "", nil
	}
	return readAddress(text)
}

func validPort(text string, least int) bool {
	port, err := strconv.Atoi(text)
	return err == nil && port >= least && port <= math.MaxUint16
}

// Levels beyond slog's own.
const (
	levelTrace = slog.LevelDebug - 4
	levelOff   = slog.LevelError + 4
)

// readLevel reads the names of log4j2's levels, which Strimzi's users know.
func readLevel(text string) (slog.Level, error) {
	switch strings.ToUpper(strings.TrimSpace(text)) {
	case "ALL", "TRACE":
		return levelTrace, nil
	case "DEBUG":
		return slog.LevelDebug, nil
	case "INFO":
		return slog.LevelInfo, nil
	case "WARN", "WARNING":
		return slog.LevelWarn, nil
	case "ERROR":
		return slog.LevelError, nil
	case "FATAL", "OFF":
		return levelOff, nil
	}
	return 0, invalid("unknown level", "use OFF, ERROR, WARN, INFO, DEBUG or TRACE")
}

func readJSONFormat(text string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "text":
		return false, nil
	case "json":
		return true, nil
	}
	return false, invalid("unknown format", "use text or json")
}

// readChoice reads one of several words; upper and lower case are the same. Hand over the legal words in the order in which an error lists them.
func readChoice[T ~string](legal ...T) func(string) (T, error) {
	return func(text string) (T, error) {
		choice := T(strings.ToLower(strings.TrimSpace(text)))
		if slices.Contains(legal, choice) {
			return choice, nil
		}
		words := make([]string, len(legal))
		for i, word := range legal {
			words[i] = string(word)
		}
		return "", invalid("unknown policy", "use "+strings.Join(words, " or "))
	}
}

func readAlterable(text string) (AlterableConfig, error) { return ParseAlterableConfig(text), nil }

func readName(text string) (string, error) {
	text = strings.TrimSpace(text)
	return text, checkObjectName(text)
}

func readNamespace(text string) (string, error) {
	text = strings.TrimSpace(text)
	return text, checkNamespace(text)
}

// readCruiseControl refuses what would otherwise be taken for granted: that replication factors follow spec.replicas.
func readCruiseControl(text string) (bool, error) {
	enabled, err := readBool(text)
	if err == nil && enabled {
		return false, invalid("changing replication factors through Cruise Control is not supported yet",
			"set it to false; a changed spec.replicas is then reported in the KafkaTopic's status")
	}
	return enabled, err
}
