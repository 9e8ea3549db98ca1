package credentials

import (
	"reflect"
	"strings"
	"testing"
)

const (
	plainJAAS = `org.apache.kafka.common.security.plain.PlainLoginModule required username=\"foo\" password=\"bar\";`
	oauthJAAS = `org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required clientId=\"me\" clientSecret=\"hush\" ` +
		`scope=\"a b\" extension_logicalCluster=\"lc\";`
)

const endpointProperty = `"sasl.oauthbearer.token.endpoint.url":"https://idp:8443/token"`

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s = %#v, want %#v", what, got, want)
	}
}

func TestJAAS(t *testing.T) {
	const class = "a.B required"
	cases := map[string]struct {
		text string
		want map[string]string
	}{
		"no options":         {class + ";", map[string]string{}},
		"blanks and lines":   {" a.B\n\tREQUIRED\n a = b\n c=\"d\" ; ", map[string]string{"a": "b", "c": "d"}},
		"quotes":             {class + ` a="b 'c'" d='e "f"';`, map[string]string{"a": "b 'c'", "d": `e "f"`}},
		"escapes":            {class + ` a="\"\\\t\n\x\101\0601\477";`, map[string]string{"a": "\"\\\t\nxA01'7"}},
		"letters":            {class + ` a="pässwörd" ü=x;`, map[string]string{"a": "pässwörd", "ü": "x"}},
		"empty value":        {class + ` a="";`, map[string]string{"a": ""}},
		"comments":           {class + " // one\n a=b /* two */ c=d;// three", map[string]string{"a": "b", "c": "d"}},
		"signs in a value":   {class + ` a="=;,//";`, map[string]string{"a": "=;,//"}},
		"dots and underline": {class + ` oauth.client.id=x user_a=y;`, map[string]string{"oauth.client.id": "x", "user_a": "y"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m, err := parseJAAS(c.text)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "class", m.class, "a.B")
			equal(t, "options", m.options, c.want)
		})
	}
	for name, text := range map[string]string{
		"empty": "", "class only": "a.B", "no flag": "a.B;", "unknown flag": "a.B perhaps;", "no end": class,
		"no end after options": class + " a=b",
		"no value":             class + " a=;", "no equals": class + " a b;", "no name": class + " =b;", "open quote": class + ` a="b;`,
		"open comment":    class + " /* a=b;",
		"line in a quote": class + " a=\"b\nc\";", "two modules": class + ";" + class + ";", "twice": class + " a=b a=b;",
		"backslash at the end": class + ` a="\`,
	} {
		t.Run("refuse "+name, func(t *testing.T) {
			if m, err := parseJAAS(text); err == nil {
				t.Errorf("read as %v", m.options)
			}
		})
	}
	_, err := parseJAAS(class + ` username=me password=hun"ter2";`)
	if err == nil || strings.Contains(err.Error(), "hun") || strings.Contains(err.Error(), "ter2") {
		t.Errorf("the error quotes a secret: %v", err)
	}
}

// FuzzJAAS checks that parseJAAS does not panic, and that a parsed text gives the same result after it is written in full.
func FuzzJAAS(f *testing.F) {
	f.Add(strings.ReplaceAll(plainJAAS, `\"`, `"`))
	f.Add(strings.ReplaceAll(oauthJAAS, `\"`, `"`))
	f.Add(`a.B required a="\"\\\377" b='c' /* d */ ; // e`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parseJAAS(text)
		if err != nil {
			return
		}
		var b strings.Builder
		b.WriteString(m.class + " required")
		for name, value := range m.options {
			b.WriteString(" " + name + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(value) + `"`)
		}
		again, err := parseJAAS(b.String() + ";")
		if err != nil {
			t.Fatalf("%q: %v", b.String(), err)
		}
		equal(t, "options", again.options, m.options)
	})
}

// FuzzCustomSASL checks that the JSON reader does not panic on any comments, and that its errors contain no value.
func FuzzCustomSASL(f *testing.F) {
	f.Add(`{"sasl.mechanism":"PLAIN","sasl.jaas.config":"` + plainJAAS + `"}`)
	f.Add(`{"sasl.mechanism":"OAUTHBEARER",` + endpointProperty + `,"sasl.jaas.config":"` + oauthJAAS + `"} // x`)
	f.Add(`{/*`)
	f.Add(`{"\`)
	f.Fuzz(func(t *testing.T, text string) {
		login, err := ParseCustomSASL(text)
		if (err == nil) != (login.Mechanism != "") {
			t.Errorf("%q: mechanism %q, error %v", text, login.Mechanism, err)
		}
	})
}
