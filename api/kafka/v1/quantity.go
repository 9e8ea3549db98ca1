package v1

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// ParseQuantity reads a quantity such as 100Gi. It rejects an exponent of more than two digits: no volume is that large, a hash may look
// like one (71523e1358234), and its computation takes hours.
func ParseQuantity(text string) (resource.Quantity, error) {
	if e := strings.IndexAny(text, "eE"); e >= 0 && len(strings.TrimLeft(text[e+1:], "+-0")) > 2 {
		return resource.Quantity{}, resource.ErrFormatWrong
	}
	return resource.ParseQuantity(text)
}
