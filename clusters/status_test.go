package clusters

import (
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

func TestTheStateFollowsFromTheFacts(t *testing.T) {
	refused, lost := refuse(ReasonSameCluster, "same"), errors.New("connection refused")
	up, down := Health{Up: true}, Health{Err: lost}
	for name, c := range map[string]struct {
		facts   facts
		state   State
		reason  Reason
		message string
	}{
		"at the start": {facts{}, Joining, ReasonStarting, "first time"},
		"the Secret cannot be read": {facts{secretErr: errors.New("forbidden"), secretName: "n/s"}, Joining, ReasonSecretUnread,
			"n/s can't be read: forbidden"},
		"there is no Secret":            {facts{secret: secretMissing, secretName: "n/s"}, Unreachable, ReasonSecretMissing, "n/s"},
		"the Secret is gone":            {facts{secret: secretMissing, health: up}, Unreachable, ReasonSecretMissing, "does not exist"},
		"the first attempt goes on":     {facts{secret: secretRead}, Joining, ReasonStarting, "first time"},
		"the first attempt failed":      {facts{secret: secretRead, candidate: lost}, Unreachable, ReasonNoAnswer, "connection refused"},
		"the first attempt was refused": {facts{secret: secretRead, candidate: refused}, Refused, ReasonSameCluster, "same"},
		"a kind is not served": {facts{secret: secretRead, candidate: fmt.Errorf("set up: %w", &meta.NoKindMatchError{})}, Refused,
			ReasonKindMissing, "set up: no matches"},
		"connected": {facts{secret: secretRead, linked: true, health: up}, Connected, "", ""},
		"lost": {facts{secret: secretRead, linked: true, health: down}, Unreachable, ReasonNoAnswer,
			"connection refused"},
		"coming back": {facts{secret: secretRead, linked: true, successes: 3}, Unreachable, ReasonNoAnswer,
			"responds again; waiting for 3 consecutive successful probes"},
		"credentials that are not valid": {facts{secret: secretRead, linked: true, health: Health{Err: apierrors.NewUnauthorized("no")}},
			Refused, ReasonCredentialsRefused, "no"},
		"back, but the caches are not": {facts{secret: secretRead, linked: true, health: up, pending: []string{"Pod", "Node"}}, Unreachable,
			ReasonResuming, "Pod, Node"},
		"a kind is not served any more": {facts{secret: secretRead, linked: true, health: up, pending: []string{"Export"},
			unserved: []string{"Export"}}, Refused, ReasonKindMissing, "does not serve any more: Export"},
		"a kind is not permitted any more": {facts{secret: secretRead, linked: true, health: up, pending: []string{"Pod"},
			forbidden: []string{"cannot list pods"}}, Refused, ReasonForbidden, "don't permit any more what caches need: cannot list pods"},
		"another cluster answers": {facts{secret: secretRead, linked: true, health: up, foreign: refuse(ReasonIdentityChanged, "x")},
			Refused, ReasonIdentityChanged, "x"},
		"new credentials are refused": {facts{secret: secretRead, linked: true, health: up, candidate: refused}, Connected,
			ReasonSameCluster, "the previous credentials stay in use: same"},
		"new credentials do not connect": {facts{secret: secretRead, linked: true, health: up, candidate: lost}, Connected, ReasonNoAnswer,
			"stay in use"},
		"neither old nor new ones connect": {facts{secret: secretRead, linked: true, health: down, candidate: refused}, Unreachable,
			ReasonNoAnswer, "connection refused; the Secret  has changed since, but its credentials do not work either: same"},
		"somebody could not be told": {facts{secret: secretRead, linked: true, health: up, joinErr: lost}, Connected, ReasonStarting,
			"the cluster is not set up yet"},
		"left": {facts{left: true, secret: secretRead, linked: true, health: up}, Left, ReasonLeft, "no longer configured"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			v := c.facts.judge()
			g.Expect(v.state).To(Equal(c.state))
			g.Expect(v.reason).To(Equal(c.reason))
			g.Expect(v.message).To(ContainSubstring(c.message))
		})
	}
}

func TestNoFactsButGoodOnesMakeAMemberConnected(t *testing.T) {
	g := NewWithT(t)
	anything := []error{nil, errors.New("lost"), refuse(ReasonKubeconfigUnsafe, "exec")}
	for n := range 2 * 3 * 3 * 2 * 3 * 2 * 2 {
		pick := func(of int) int { i := n % of; n /= of; return i }
		f := facts{
			left: pick(2) == 1, secret: secretView(pick(3)), candidate: anything[pick(3)], linked: pick(2) == 1, foreign: anything[pick(3)],
			health: Health{Up: pick(2) == 1, Err: anything[1]},
		}
		if pick(2) == 1 {
			f.pending = []string{"Pod"}
		}
		good := !f.left && f.secret != secretMissing && f.linked && f.foreign == nil && f.health.Up && f.pending == nil
		expected := Not(Equal(Connected))
		if good {
			expected = Equal(Connected)
		}
		g.Expect(f.judge().state).To(expected, "%+v", f)
	}
}

func TestOnlyChangesThatMatterAreTold(t *testing.T) {
	g := NewWithT(t)
	base := Status{ID: "east", State: Unreachable, Reason: ReasonNoAnswer, Message: "a"}
	with := func(change func(*Status)) Status { s := base; change(&s); return s }
	g.Expect(notable(base, base)).To(BeFalse())
	g.Expect(notable(base, with(func(s *Status) { s.LastSeen = time.Unix(1, 0) }))).To(BeFalse())
	g.Expect(notable(base, with(func(s *Status) { s.Message = "b" }))).To(BeFalse())
	g.Expect(notable(base, with(func(s *Status) { s.State = Refused }))).To(BeTrue())
	g.Expect(notable(base, with(func(s *Status) { s.Reason = ReasonResuming }))).To(BeTrue())
	g.Expect(notable(base, with(func(s *Status) { s.Identity = "1" }))).To(BeTrue())
	g.Expect(notable(base, with(func(s *Status) { s.CredentialsExpire = time.Unix(1, 0) }))).To(BeTrue())
	base.Reason = ReasonKubeconfigInvalid
	g.Expect(notable(base, with(func(s *Status) { s.Message = "b" }))).To(BeTrue())
}

func TestASlowReaderMissesNothingThatIsLast(t *testing.T) {
	g := NewWithT(t)
	var s subscribers
	sub := &subscriber{latest: map[string]Status{}, wake: make(chan struct{}, 1)}
	s.add(sub)
	for _, state := range []State{Joining, Connected, Unreachable} {
		s.publish(Status{ID: "east", State: state})
		s.publish(Status{ID: "west", State: state})
	}
	sub.putFirst(Status{ID: "east", State: Joining})
	to := make(chan Status)
	go sub.deliver(t.Context(), to)
	g.Eventually(to).Should(Receive(Equal(Status{ID: "east", State: Unreachable})))
	g.Eventually(to).Should(Receive(Equal(Status{ID: "west", State: Unreachable})))
	s.publish(Status{ID: "west", State: Left})
	g.Eventually(to).Should(Receive(Equal(Status{ID: "west", State: Left})))
	s.remove(sub)
	s.publish(Status{ID: "west", State: Joining})
	g.Consistently(to).ShouldNot(Receive())
}
