package v1

import "testing"

func TestQuantities(t *testing.T) {
	for text, legal := range map[string]bool{
		"100Gi": true, "1e3": true, "1E6": true, "1Ei": true, "12E": true, "5e10": true, "": false, "much": false, "1e999999999": false,
		"71523e1358234": false, "1e-999999999": false,
	} {
		if _, err := ParseQuantity(text); (err == nil) != legal {
			t.Errorf("%q: %v", text, err)
		}
	}
}
