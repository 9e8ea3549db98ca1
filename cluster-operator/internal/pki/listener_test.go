package pki

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

// pairOf returns a user's pair of certificate and key that is valid for a while from then on.
func pairOf(t *testing.T, from time.Time, validity time.Duration) Pair {
	t.Helper()
	own := issue(t, "kafka.example.com", ecKey(t), nil, from, from.Add(validity))
	return Pair{encodeCerts(own.cert), pkcs8(t, own.key)}
}

// TestListenersOfUsers checks that nodes serve a user's certificate on a listener once they may be restarted for it. Until then, or if the
// certificate can't be served, they serve the one that they have.
func TestListenersOfUsers(t *testing.T) {
	now := at("2026-11-22 12:00:00")
	const month = 30 * 24 * time.Hour
	before, after := pairOf(t, now.Add(-month), 3*month), pairOf(t, now, 3*month)
	ending := pairOf(t, now.Add(-month), month+2*24*time.Hour)
	expired := pairOf(t, now.Add(-month), month-time.Hour)
	garbage := Pair{[]byte("x"), []byte("y")}
	sameCertificate := Pair{before.Certificate, join(before.Key, []byte("\n"))}
	closed, soon := []string{"* * 1 1 1 ?"}, []string{"* * 13 * * ?"}
	for name, c := range map[string]struct {
		wanted  *Pair
		held    []Pair // by the nodes' Secrets
		windows []string

		serves  Pair
		nothing bool
		problem string
		next    time.Time
	}{
		"a new Kafka":                       {wanted: &after, windows: closed, serves: after},
		"a new Kafka, and nothing to serve": {nothing: true},
		"nothing changed":                   {wanted: &before, held: []Pair{before, before}, windows: closed, serves: before},
		"renewed":                           {wanted: &after, held: []Pair{before, before}, serves: after},
		"renewed, the window is open":       {wanted: &after, held: []Pair{before, before}, windows: []string{"* * 12 * * ?"}, serves: after},
		"renewed, the window is closed": {
			wanted: &after, held: []Pair{before, before}, windows: soon, serves: before, problem: ReasonPostponed, next: now.Add(time.Hour),
		},
		"no window, and the old one ends": {wanted: &after, held: []Pair{ending, ending}, windows: closed, serves: after},
		"a window before the old one ends": {
			wanted: &after, held: []Pair{ending, ending}, windows: soon, serves: ending, problem: ReasonPostponed, next: now.Add(time.Hour),
		},
		"no window, and the old one expired": {wanted: &after, held: []Pair{expired, expired}, windows: closed, serves: after},
		"the window closed in the middle":    {wanted: &after, held: []Pair{after, before}, windows: closed, serves: after},
		"a new node, the window is closed": {
			wanted: &after, held: []Pair{before}, windows: soon, serves: before, problem: ReasonPostponed, next: now.Add(time.Hour),
		},
		"only the form of the key changed": {
			wanted: &sameCertificate, held: []Pair{before, before}, windows: closed, serves: sameCertificate,
		},
		"what can't be served is held":        {wanted: &after, held: []Pair{garbage, garbage}, windows: closed, serves: after},
		"refused":                             {held: []Pair{before, before}, serves: before},
		"refused, on a node there is none":    {held: []Pair{before}, serves: before},
		"refused in the middle of a change":   {held: []Pair{before, after}, windows: closed, serves: after},
		"refused, and one node has garbage":   {held: []Pair{garbage, before}, serves: before},
		"refused, and all have garbage":       {held: []Pair{garbage, garbage}, serves: garbage},
		"expires soon":                        {wanted: &ending, held: []Pair{ending}, serves: ending, problem: ReasonCAExpiring},
		"expired, and the new one is refused": {held: []Pair{expired}, serves: expired, problem: ReasonCAExpiring},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newSim(3) // the third one is a controller
			s.in.Windows, s.in.Listeners = c.windows, []Listener{{Name: "tls", Secret: "own", CertEntry: "tls-9093.crt", KeyEntry: "tls-9093.key",
				Wanted: c.wanted}}
			s.in.Nodes[0].Listeners, s.in.Nodes[1].Listeners = true, true
			g.Expect(s.converge(s.check)).To(Succeed())
			for i, pod := range []string{"c-p-0", "c-p-1"} {
				delete(s.secrets[pod].Data, "tls-9093.crt")
				delete(s.secrets[pod].Data, "tls-9093.key")
				if i < len(c.held) {
					s.secrets[pod].Data["tls-9093.crt"], s.secrets[pod].Data["tls-9093.key"] = c.held[i].Certificate, c.held[i].Key
				}
			}
			r, err := Plan(s.read())
			g.Expect(err).NotTo(HaveOccurred())
			secrets := map[string]*corev1.Secret{}
			for _, d := range r.Leaves {
				secrets[d.Name] = d.Secret
			}
			if c.nothing {
				g.Expect(r.Listeners).To(BeEmpty())
				g.Expect(secrets["c-p-0"].Data).To(And(HaveLen(2), HaveKey("c-p-0.crt"), HaveKey("c-p-0.key")))
				return
			}
			g.Expect(r.Listeners).To(Equal(map[string]Pair{"tls": c.serves}))
			for _, pod := range []string{"c-p-0", "c-p-1"} {
				g.Expect(secrets[pod].Data).To(And(HaveKeyWithValue("tls-9093.crt", c.serves.Certificate),
					HaveKeyWithValue("tls-9093.key", c.serves.Key)))
			}
			g.Expect(secrets["c-p-2"].Data).To(HaveLen(2))
			if c.problem == "" {
				g.Expect(r.Problems).To(BeEmpty())
			} else {
				g.Expect(r.Problems).To(ConsistOf(And(HaveField("Reason", c.problem), HaveField("Message", And(ContainSubstring("listener tls"),
					ContainSubstring("Secret own"))))))
			}
			if !c.next.IsZero() {
				g.Expect(r.Next).To(Equal(c.next))
			}
		})
	}
}

// TestShortCertificatesOfListenersAreReportedLater checks that a certificate with a validity of less than three months is not reported for
// most of its life.
func TestShortCertificatesOfListenersAreReportedLater(t *testing.T) {
	now := at("2026-11-22 12:00:00")
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		validity, left time.Duration
		want           bool
	}{
		"a year, 31 days left":   {365 * day, 31 * day, false},
		"a year, 29 days left":   {365 * day, 29 * day, true},
		"six days, four left":    {6 * day, 4 * day, false},
		"six days, one left":     {6 * day, day, true},
		"six days, none is left": {6 * day, -time.Second, true},
	} {
		pair := pairOf(t, now.Add(c.left-c.validity), c.validity)
		warns := len(choice{pair: pair, cert: pair.leaf()}.warn(Listener{}, now)) > 0
		NewWithT(t).Expect(warns).To(Equal(c.want), name)
	}
}
