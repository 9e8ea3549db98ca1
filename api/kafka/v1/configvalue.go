package v1

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// ErrNullConfigValue means that a configuration value is null, which Kafka has no text for.
var ErrNullConfigValue = errors.New("null has no text form")

// ErrUnsupportedConfigValue means that a configuration value is a map or not JSON at all.
var ErrUnsupportedConfigValue = errors.New("only strings, numbers, booleans and lists of these have a text form")

// ConfigValue is the value of one configuration key, as the user wrote it: any JSON. It is kept unchanged, so that nothing is lost or
// rounded before Kafka receives it; its reader validates it.
//
// The zero value is null.
type ConfigValue struct {
	// Raw is the JSON text.
	Raw json.RawMessage `json:"-"`
}

// MarshalJSON returns the JSON text as it came.
func (v ConfigValue) MarshalJSON() ([]byte, error) {
	if len(v.Raw) == 0 {
		return []byte("null"), nil
	}
	return v.Raw, nil
}

// UnmarshalJSON keeps the JSON text.
func (v *ConfigValue) UnmarshalJSON(data []byte) error {
	// The caller reuses data; null becomes the zero value so that values compare equal.
	v.Raw = nil
	if !bytes.Equal(data, []byte("null")) {
		v.Raw = append(v.Raw, data...)
	}
	return nil
}

// DeepCopyInto copies the value.
func (v *ConfigValue) DeepCopyInto(out *ConfigValue) {
	out.Raw = bytes.Clone(v.Raw)
}

// DeepCopy returns a copy of the value.
func (v *ConfigValue) DeepCopy() *ConfigValue {
	if v == nil {
		return nil
	}
	out := new(ConfigValue)
	v.DeepCopyInto(out)
	return out
}

// String returns the JSON text, for messages.
func (v ConfigValue) String() string {
	if len(v.Raw) == 0 {
		return "null"
	}
	return string(v.Raw)
}

// Text renders the value as Kafka takes it: a string as it is, a boolean or number as its text, a list joined by
// commas. The error is ErrNullConfigValue for null, also inside a list, and ErrUnsupportedConfigValue for a map.
func (v ConfigValue) Text() (string, error) {
	if len(v.Raw) == 0 {
		return "", ErrNullConfigValue
	}
	decoder := json.NewDecoder(bytes.NewReader(v.Raw))
	decoder.UseNumber() // float64 would round integers beyond 2^53
	var value any
	if err := decoder.Decode(&value); err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnsupportedConfigValue, err)
	}
	return configText(value)
}

func configText(value any) (string, error) {
	switch value := value.(type) {
	case nil:
		return "", ErrNullConfigValue
	case string:
		return value, nil
	case bool:
		return fmt.Sprint(value), nil
	case json.Number:
		return numberText(value.String()), nil
	case []any:
		parts := make([]string, len(value))
		for i, element := range value {
			part, err := configText(element)
			if err != nil {
				return "", err
			}
			parts[i] = part
		}
		return strings.Join(parts, ","), nil
	default:
		return "", ErrUnsupportedConfigValue
	}
}

// numberText returns the text of a JSON number. Integers in exponent notation, which is how the API server gives back
// those beyond 64 bits, and how JSON allows 6e5 to be written, are spelled out: Kafka's integers know no exponents.
func numberText(text string) string {
	const longest = 24 // characters: a longer number exceeds Kafka's 64 bits, and 1e999999999 must not fill the memory
	mantissa, exponent, found := strings.Cut(strings.ToLower(text), "e")
	if !found || len(mantissa) > longest || len(strings.TrimLeft(exponent, "+-0")) > 2 {
		return text
	}
	if number, ok := new(big.Rat).SetString(text); ok && number.IsInt() {
		return number.Num().String()
	}
	return text
}
