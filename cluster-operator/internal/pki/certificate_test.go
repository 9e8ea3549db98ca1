package pki

import (
	"testing"

	. "github.com/onsi/gomega"
)

// A certificate has no zones: one for an address with a zone would be made anew in each pass.
func TestNamesOfACertificateAreComparedAsItHasThem(t *testing.T) {
	NewWithT(t).Expect(normalSANs([]string{"fe80::1%eth0", "::ffff:10.0.0.1", "b", "b"})).To(Equal([]string{"10.0.0.1", "b", "fe80::1"}))
}
