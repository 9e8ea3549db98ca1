package topic

import (
	"math/big"
	"strings"
)

// sameValue reports whether two texts are one value to Kafka. Kafka parses what it is given and shows it in its own form ("0.50" comes back
// as "0.5", "TRUE" as "true", "compact, delete" as "compact,delete"); taking that for a difference would set the value at every pass.
func sameValue(want, have string) bool {
	if want == have {
		return true
	}
	w, h := strings.Split(want, ","), strings.Split(have, ",")
	if len(w) != len(h) {
		return false
	}
	for i := range w {
		if !sameWord(strings.TrimSpace(w[i]), strings.TrimSpace(h[i])) {
			return false
		}
	}
	return true
}

func sameWord(want, have string) bool {
	return want == have || sameBool(want, have) || sameNumber(want, have)
}

func sameBool(want, have string) bool {
	return (have == "true" || have == "false") && strings.EqualFold(want, have)
}

// longestNumber bounds what is parsed: no number of Kafka's is longer, and "1e999999999" must not eat memory.
const longestNumber = 40

func sameNumber(want, have string) bool {
	w, okWant := number(want)
	h, okHave := number(have)
	return okWant && okHave && w.Cmp(h) == 0
}

func number(text string) (*big.Rat, bool) {
	if len(text) == 0 || len(text) > longestNumber || strings.Trim(text, "+-.0123456789eE") != "" {
		return nil, false
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 && len(text)-i > 4 {
		return nil, false // an exponent of more than two digits
	}
	return new(big.Rat).SetString(text)
}
