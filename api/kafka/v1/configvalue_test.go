package v1_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

func TestConfigValueText(t *testing.T) {
	cases := map[string]struct {
		json string
		want string
		err  error
	}{
		"string":                           {json: `"compact"`, want: "compact"},
		"empty string":                     {json: `""`, want: ""},
		"string that looks like a number":  {json: `"007"`, want: "007"},
		"string that says null":            {json: `"null"`, want: "null"},
		"string with escapes":              {json: `"a\u00e9\n"`, want: "aé\n"},
		"integer":                          {json: `7200000`, want: "7200000"},
		"negative integer":                 {json: `-1`, want: "-1"},
		"beyond 2^53":                      {json: `9007199254740993`, want: "9007199254740993"},
		"largest 64-bit integer":           {json: `9223372036854775807`, want: "9223372036854775807"},
		"beyond 64 bits":                   {json: `18446744073709551616`, want: "18446744073709551616"},
		"beyond 64 bits by the API server": {json: `1.8446744073709552e+19`, want: "18446744073709552000"},
		"integer with an exponent":         {json: `6e5`, want: "600000"},
		"integer with a capital exponent":  {json: `6E+5`, want: "600000"},
		"fraction":                         {json: `0.5`, want: "0.5"},
		"fraction that is whole":           {json: `1.0`, want: "1.0"},
		"small fraction":                   {json: `5e-7`, want: "5e-7"},
		"absurd exponent":                  {json: `1e999999999`, want: "1e999999999"},
		"true":                             {json: `true`, want: "true"},
		"false":                            {json: `false`, want: "false"},
		"list of strings":                  {json: `["compact","delete"]`, want: "compact,delete"},
		"list of scalars":                  {json: `["a", 1, true, 9007199254740993]`, want: "a,1,true,9007199254740993"},
		"empty list":                       {json: `[]`, want: ""},
		"list in a list":                   {json: `["a",["b","c"]]`, want: "a,b,c"},
		"null":                             {json: `null`, err: v1.ErrNullConfigValue},
		"null in a list":                   {json: `["a",null]`, err: v1.ErrNullConfigValue},
		"map":                              {json: `{"a":"b"}`, err: v1.ErrUnsupportedConfigValue},
		"empty map":                        {json: `{}`, err: v1.ErrUnsupportedConfigValue},
		"map in a list":                    {json: `[{"a":1}]`, err: v1.ErrUnsupportedConfigValue},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var value v1.ConfigValue
			if err := json.Unmarshal([]byte(tc.json), &value); err != nil {
				t.Fatalf("decoding: %v", err)
			}
			got, err := value.Text()
			if !errors.Is(err, tc.err) || (err != nil) != (tc.err != nil) {
				t.Fatalf("Text() error = %v, want %v", err, tc.err)
			}
			if got != tc.want {
				t.Errorf("Text() = %q, want %q", got, tc.want)
			}
			back, err := json.Marshal(value)
			if err != nil {
				t.Fatalf("encoding: %v", err)
			}
			if want := strings.ReplaceAll(tc.json, ", ", ","); string(back) != want {
				t.Errorf("encoded = %s, want %s", back, want)
			}
		})
	}
}

func TestConfigValueZero(t *testing.T) {
	var value v1.ConfigValue
	if _, err := value.Text(); !errors.Is(err, v1.ErrNullConfigValue) {
		t.Errorf("Text() error = %v, want %v", err, v1.ErrNullConfigValue)
	}
	if got := value.String(); got != "null" {
		t.Errorf("String() = %q, want null", got)
	}
	if _, err := (v1.ConfigValue{Raw: json.RawMessage("{")}).Text(); !errors.Is(err, v1.ErrUnsupportedConfigValue) {
		t.Errorf("Text() of broken JSON: error = %v, want %v", err, v1.ErrUnsupportedConfigValue)
	}
}

func TestConfigValueCopiesAreIndependent(t *testing.T) {
	value := v1.ConfigValue{Raw: []byte(`"delete"`)}
	copied := value.DeepCopy()
	copied.Raw[1] = 'X'
	if got, _ := value.Text(); got != "delete" {
		t.Errorf("changing a copy changed the original: %q", got)
	}
	// The decoder owns and reuses what it hands to UnmarshalJSON.
	data := []byte(`"delete"`)
	if err := value.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	data[1] = 'X'
	if got, _ := value.Text(); got != "delete" {
		t.Errorf("the value aliases the decoder's buffer: %q", got)
	}
}

// FuzzConfigValue feeds any JSON: it must survive a round trip in meaning, and rendering must never panic, be
// ambiguous about failure, or change a string.
func FuzzConfigValue(f *testing.F) {
	for _, seed := range []string{`"a"`, `1`, `-0`, `1e5`, `1E400`, `[1,"a",[true]]`, `{"a":null}`, `null`, `"\ud800"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var value v1.ConfigValue
		if json.Unmarshal(data, &value) != nil {
			return
		}
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatalf("encoding %q: %v", data, err)
		}
		var again v1.ConfigValue
		if err := json.Unmarshal(encoded, &again); err != nil {
			t.Fatalf("decoding %q again: %v", encoded, err)
		}
		text, err := value.Text()
		textAgain, errAgain := again.Text()
		if text != textAgain || !errors.Is(errAgain, err) && err != nil && err.Error() != errAgain.Error() {
			t.Fatalf("%q renders as %q (%v), and after a round trip as %q (%v)", data, text, err, textAgain, errAgain)
		}
		if err != nil && !errors.Is(err, v1.ErrNullConfigValue) && !errors.Is(err, v1.ErrUnsupportedConfigValue) {
			t.Fatalf("%q: unexpected error %v", data, err)
		}
		var plain string
		if len(value.Raw) > 0 && json.Unmarshal(data, &plain) == nil && plain != text {
			t.Fatalf("string %q became %q", plain, text)
		}
	})
}
