package observe

import (
	"strconv"
	"strings"
	"unicode/utf16"
)

// Properties parses a Java properties file, as far as Kafka's configuration files use the format: comments, both separators, lines that
// continue after a backslash, and escapes. A duplicate key has its last value.
func Properties(text string) map[string]string {
	properties := map[string]string{}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimLeft(lines[i], " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for continued(line) && i+1 < len(lines) {
			i++
			line = line[:len(line)-1] + strings.TrimLeft(lines[i], " \t\f")
		}
		key, value := separate(line)
		properties[unescape(key)] = unescape(value)
	}
	return properties
}

// continued reports whether the line ends with an odd number of backslashes.
func continued(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// separate splits a line after its key: at =, : or white space.
func separate(line string) (key, value string) {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '=', ':', ' ', '\t', '\f':
			rest := strings.TrimLeft(line[i:], " \t\f")
			if rest != "" && (rest[0] == '=' || rest[0] == ':') {
				rest = strings.TrimLeft(rest[1:], " \t\f")
			}
			return line[:i], rest
		}
	}
	return line, ""
}

func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n':
			out.WriteByte('\n')
		case 't':
			out.WriteByte('\t')
		case 'r':
			out.WriteByte('\r')
		case 'f':
			out.WriteByte('\f')
		default:
			if text, n := numbered(s[i-1:]); n > 0 {
				out.WriteString(text)
				i += n - 2
				continue
			}
			out.WriteByte(s[i])
		}
	}
	return out.String()
}

// numbered reads the characters by number (\uXXXX, in UTF-16) that a text begins with, and how many bytes they take.
func numbered(s string) (text string, n int) {
	var units []uint16
	for ; len(s) >= n+6 && s[n:n+2] == `\u`; n += 6 {
		unit, err := strconv.ParseUint(s[n+2:n+6], 16, 16)
		if err != nil {
			break
		}
		units = append(units, uint16(unit))
	}
	return string(utf16.Decode(units)), n
}
