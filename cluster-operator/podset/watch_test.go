package podset

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestAPodThatCouldNotBeCreatedIsTriedAgainSoon(t *testing.T) {
	limiter, last := Retries(LongestRetry), time.Duration(0)
	for range 40 {
		last = limiter.When(reconcile.Request{})
	}
	NewWithT(t).Expect(last).To(Equal(30 * time.Second))
}
