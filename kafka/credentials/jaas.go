package credentials

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// loginModule is one entry of a JAAS configuration, the format of credentials for Kafka's Java clients.
type loginModule struct {
	class   string
	options map[string]string
}

// The supported login modules, by the end of their class names: some distributions add their own prefix.
const (
	modulePlain = "org.apache.kafka.common.security.plain.PlainLoginModule"
	moduleScram = "org.apache.kafka.common.security.scram.ScramLoginModule"
	moduleOAuth = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
)

// suits checks that the module implements the mechanism.
func (m loginModule) suits(mechanism kafka.SASLMechanism) error {
	want := map[kafka.SASLMechanism]string{
		kafka.SASLPlain: modulePlain, kafka.SASLScramSHA256: moduleScram, kafka.SASLScramSHA512: moduleScram, kafka.SASLOAuthBearer: moduleOAuth,
	}[mechanism]
	if strings.HasSuffix(m.class, want) {
		return nil
	}
	for _, known := range []string{modulePlain, moduleScram, moduleOAuth} {
		if strings.HasSuffix(m.class, known) {
			return invalid(propertyJAAS+": "+known+" does not belong to mechanism "+string(mechanism), "use "+want)
		}
	}
	return invalid(propertyJAAS+": the login module is not supported",
		"supported are "+strings.Join([]string{modulePlain, moduleScram, moduleOAuth}, ", ")+
			"; AWS MSK IAM and Kerberos are not")
}

// take returns an option and removes it, so that rest finds the unexpected ones.
func (m loginModule) take(option string) string {
	value := m.options[option]
	delete(m.options, option)
	return value
}

// rest returns an error for unexpected options.
func (m loginModule) rest(supported string) error {
	if len(m.options) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(m.options))
	return invalid(propertyJAAS+": not supported: "+strings.Join(names, ", "), "supported are "+supported)
}

// parseJAAS parses: class flag (name=value)* ; with quotes, escapes and comments as in Java's StreamTokenizer. Its errors contain positions
// and no text: after a misplaced quote, a part of a password may look like a name.
func parseJAAS(text string) (loginModule, error) {
	t := tokenizer{text: text}
	m := loginModule{options: map[string]string{}}
	class, flag := t.next(), t.next()
	if class.kind != word || flag.kind != word {
		return m, t.malformed("a class name and a control flag are expected")
	}
	m.class = class.text
	switch strings.ToLower(flag.text) {
	case "required", "requisite", "sufficient", "optional":
	default:
		return m, t.malformed("the control flag is not required, requisite, sufficient or optional")
	}
	for {
		name := t.next()
		if name.kind == symbol && name.text == ";" {
			break
		}
		if name.kind != word {
			return m, t.malformed("the name of an option, or ; is expected")
		}
		if equals := t.next(); equals.kind != symbol || equals.text != "=" {
			return m, t.malformed("= is expected")
		}
		value := t.next()
		if value.kind != word && value.kind != quoted {
			return m, t.malformed("a value is expected; put it in double quotes")
		}
		if _, twice := m.options[name.text]; twice {
			return m, t.malformed("duplicate key: an option is given twice")
		}
		m.options[name.text] = value.text
	}
	if t.next().kind != end {
		return m, t.malformed("more than one login module")
	}
	return m, nil
}

func (t *tokenizer) malformed(what string) error {
	return invalid(fmt.Sprintf("%s is malformed before byte %d: %s", propertyJAAS, t.pos, what),
		`write it as: class required name="value" name="value";`)
}

type tokenKind int

const (
	// end is the end of the text.
	end tokenKind = iota
	word
	quoted
	symbol
	// broken is a string or comment that does not end.
	broken
)

type token struct {
	kind tokenKind
	text string
}

type tokenizer struct {
	text string
	pos  int
}

func (t *tokenizer) next() token {
	if !t.skip() {
		return token{kind: broken}
	}
	if t.pos >= len(t.text) {
		return token{kind: end}
	}
	c := t.text[t.pos]
	if c == '"' || c == '\'' {
		return t.quotation(c)
	}
	start := t.pos
	if !isWord(c) {
		t.pos++
		return token{symbol, t.text[start:t.pos]}
	}
	for t.pos < len(t.text) && isWord(t.text[t.pos]) {
		t.pos++
	}
	return token{word, t.text[start:t.pos]}
}

// isWord reports whether a byte needs no quotes. Bytes of 128 and more are parts of letters.
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_-$.", c) >= 0 || c >= 0x80
}

// skip moves to the next token, and reports whether all comments in between end.
func (t *tokenizer) skip() bool {
	for t.pos < len(t.text) {
		rest := t.text[t.pos:]
		switch {
		case rest[0] <= ' ':
			t.pos++
		case strings.HasPrefix(rest, "//"):
			t.pos = t.after("\n", len(t.text))
		case strings.HasPrefix(rest, "/*"):
			t.pos += 2
			if t.pos = t.after("*/", -1); t.pos < 0 {
				t.pos = len(t.text)
				return false
			}
		default:
			return true
		}
	}
	return true
}

// after returns the index after the next occurrence of closing, or otherwise.
func (t *tokenizer) after(closing string, otherwise int) int {
	if at := strings.Index(t.text[t.pos:], closing); at >= 0 {
		return t.pos + at + len(closing)
	}
	return otherwise
}

// quotation reads a string that ends with the same quote on the same line.
func (t *tokenizer) quotation(quote byte) token {
	var out strings.Builder
	for t.pos++; t.pos < len(t.text); {
		switch c := t.text[t.pos]; c {
		case quote:
			t.pos++
			return token{quoted, out.String()}
		case '\n', '\r':
			return token{kind: broken}
		case '\\':
			t.pos++
			t.escape(&out)
		default:
			out.WriteByte(c)
			t.pos++
		}
	}
	return token{kind: broken}
}

// escape reads what follows a backslash: up to three octal digits (at most 377), one of Java's letters, or a literal character.
func (t *tokenizer) escape(out *strings.Builder) {
	if t.pos >= len(t.text) {
		return
	}
	c := t.text[t.pos]
	if c < '0' || c > '7' {
		t.pos++
		if at := strings.IndexByte("abfnrtv", c); at >= 0 {
			c = "\a\b\f\n\r\t\v"[at]
		}
		out.WriteByte(c)
		return
	}
	most := 3
	if c > '3' {
		most = 2
	}
	code := rune(0)
	for n := 0; n < most && t.pos < len(t.text) && t.text[t.pos] >= '0' && t.text[t.pos] <= '7'; n++ {
		code = code*8 + rune(t.text[t.pos]-'0')
		t.pos++
	}
	out.WriteRune(code)
}
