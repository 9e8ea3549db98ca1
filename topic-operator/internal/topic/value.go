package topic

import (
	"math/big"
	"strings"
)

// sameValue reports whether two texts are the same value for Kafka. Kafka parses values and returns them in its own form ("0.50" becomes
// "0.5", "TRUE" becomes "true", "compact, delete" becomes "compact,delete"). Otherwise every pass would set such a value again.
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

// longestNumber bounds the length of a number to parse: Kafka's numbers are shorter, and "1e999999999" must not exhaust the memory.
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
