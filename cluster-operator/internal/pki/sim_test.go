package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// testKey makes keys that cost nothing, also for CAs.
func testKey(Use) (crypto.Signer, error) {
	return ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader)
}

// sim is a Kafka cluster in small: Secrets, StrimziPodSets, and pods that read Secrets when they start.
type sim struct {
	in       Input // without what is read
	secrets  map[string]*corev1.Secret
	declared map[string]map[string]string // annotations of pods in StrimziPodSets
	pods     map[string]*simPod
	now      time.Time
	version  int
	nodes    int            // that there ever were
	restarts map[string]int // by node
	last     Result
	verified map[string]bool // what was found to be trusted at this time

	// plan is Plan, or Plan with a fault in it.
	plan func(Input) (Result, error)
}

// simPod is a running node: what it trusts and serves was read from Secrets since it started, each at a time of its own.
type simPod struct {
	annotations map[string]string
	trusts      []byte
	serves      []byte
}

func newSim(nodes int) *sim {
	s := &sim{
		nodes: nodes,
		in: Input{
			Namespace: "kafka", Cluster: "c", Owner: &metav1.OwnerReference{APIVersion: "kafka.strimzi.io/v1", Kind: "Kafka", Name: "c", UID: "u"},
			ClusterCA: CAConfig{Generate: true, OwnerReference: true}, ClientsCA: CAConfig{Generate: true, OwnerReference: true},
			Rand: cryptorand.Reader, NewKey: testKey, TopicOperator: true,
		},
		secrets: map[string]*corev1.Secret{}, declared: map[string]map[string]string{}, pods: map[string]*simPod{},
		now:      at("2026-11-22 12:00:00"),
		restarts: map[string]int{}, verified: map[string]bool{}, plan: Plan,
	}
	for i := range nodes {
		s.in.Nodes = append(s.in.Nodes, node(i))
	}
	return s
}

func node(i int) Node {
	name := fmt.Sprintf("c-p-%d", i)
	return Node{PodName: name, SANs: []string{name + ".c-kafka-brokers.kafka.svc", "c-kafka-bootstrap", "10.0.0." + fmt.Sprint(i%250)}}
}

// read is what a pass reads. unknown names what it fails to read; "pods" is one of them.
func (s *sim) read(unknown ...string) Input {
	in := s.in
	in.Now = s.now
	in.Secrets = map[string]Fact{}
	names := []string{ClusterCAKeySecret("c"), ClusterCACertSecret("c"), ClientsCAKeySecret("c"), ClientsCACertSecret("c"),
		TrustBundleSecret("c"), OperatorSecret("c"), TopicOperatorSecret("c")}
	for _, n := range in.Nodes {
		names = append(names, n.PodName)
	}
	for _, name := range names {
		switch secret := s.secrets[name]; {
		case slices.Contains(unknown, name):
			in.Secrets[name] = Unread(errors.New("timeout"))
		case secret == nil:
			in.Secrets[name] = Missing()
		default:
			in.Secrets[name] = Found(secret.DeepCopy())
		}
	}
	in.PodsKnown = !slices.Contains(unknown, "pods")
	if in.PodsKnown {
		for _, name := range slices.Sorted(maps.Keys(s.pods)) {
			in.Pods = append(in.Pods, Pod{name, s.pods[name].annotations})
		}
		for _, name := range slices.Sorted(maps.Keys(s.declared)) {
			in.Pods = append(in.Pods, Pod{name, s.declared[name]})
		}
	}
	return in
}

// pass is one pass of the operator, of which the first writes are carried out; check is called after each.
func (s *sim) pass(writes int, check func() error, unknown ...string) error {
	r, err := s.plan(s.read(unknown...))
	if err != nil {
		return err
	}
	s.last = r
	all := slices.Concat(r.CAs, []Desired{r.TrustBundle}, r.Leaves)
	for _, d := range all {
		if d.Change == Keep {
			continue
		}
		if writes--; writes < 0 {
			return nil
		}
		if existing := s.secrets[d.Name]; existing != nil && d.Change == Create || existing != nil && d.ResourceVersion != "" &&
			existing.ResourceVersion != d.ResourceVersion {
			return nil // conflict: look again
		}
		s.version++
		secret := d.DeepCopy()
		secret.ResourceVersion = fmt.Sprint(s.version)
		s.secrets[d.Name] = secret
		if err := check(); err != nil {
			return fmt.Errorf("after the write of %s: %w", d.Name, err)
		}
	}
	// StrimziPodSets are written one by one too.
	wanted := map[string]bool{}
	for _, n := range s.in.Nodes {
		wanted[n.PodName] = true
		annotations, ok := r.PodAnnotations[n.PodName]
		if !ok || maps.Equal(annotations, s.declared[n.PodName]) {
			continue
		}
		if writes--; writes < 0 {
			return nil
		}
		s.declared[n.PodName] = annotations
	}
	for name := range s.declared {
		if !wanted[name] {
			delete(s.declared, name)
		}
	}
	return check()
}

// start makes a declared pod that is missing.
func (s *sim) start(name string) {
	if s.secrets[name] == nil || s.secrets[TrustBundleSecret("c")] == nil {
		return // the kubelet waits for the Secrets
	}
	if s.pods[name] == nil {
		s.pods[name] = &simPod{annotations: maps.Clone(s.declared[name])}
	}
	s.reload(name, true, true)
}

// reload is a container that starts again in its pod, with what its volumes hold now.
func (s *sim) reload(name string, trust, serve bool) {
	pod := s.pods[name]
	if trust || pod.trusts == nil {
		pod.trusts = s.secrets[TrustBundleSecret("c")].Data[bundleCluster]
	}
	if (serve || pod.serves == nil) && s.secrets[name] != nil {
		pod.serves = s.secrets[name].Data[name+suffixCert]
	}
}

// outdated are the nodes whose pods are missing, or not as they are declared.
func (s *sim) outdated() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.declared)) {
		if pod := s.pods[name]; pod == nil || !maps.Equal(pod.annotations, s.declared[name]) {
			names = append(names, name)
		}
	}
	return names
}

// roll restarts one pod that is out of date, as the roller does.
func (s *sim) roll(pick func(int) int) bool {
	names := s.outdated()
	if len(names) == 0 {
		return false
	}
	name := names[pick(len(names))]
	if s.pods[name] != nil {
		s.restarts[name]++
	}
	delete(s.pods, name)
	s.start(name)
	return true
}

// converge passes and rolls until nothing changes.
func (s *sim) converge(check func() error) error {
	for range 200 {
		before := s.version
		if err := s.pass(1000, check); err != nil {
			return err
		}
		rolled := s.roll(func(int) int { return 0 })
		for name := range s.pods {
			if s.declared[name] == nil {
				delete(s.pods, name)
			}
		}
		if err := check(); err != nil {
			return err
		}
		if !rolled && s.version == before && len(s.outdated()) == 0 {
			return nil
		}
	}
	return errors.New("does not converge")
}

// check is the truth: each node trusts what each other node serves, and what the operators present; the operator trusts what each node
// serves; and no CA certificate is published whose key is lost.
func (s *sim) check() error { return errors.Join(s.checkNodes(), s.checkClients(), s.checkKeys()) }

// checkNodes is that nodes trust each other and the operators.
func (s *sim) checkNodes() error {
	for name, pod := range s.pods {
		for other, peer := range s.pods {
			if err := s.verify(pod.trusts, peer.serves); err != nil {
				return fmt.Errorf("%s does not trust %s: %w", name, other, err)
			}
		}
		for secret, entry := range map[string]string{OperatorSecret("c"): "cluster-operator.crt",
			TopicOperatorSecret("c"): "entity-operator.crt"} {
			if held := s.secrets[secret]; held != nil {
				if err := s.verify(pod.trusts, held.Data[entry]); err != nil {
					return fmt.Errorf("%s does not trust %s: %w", name, secret, err)
				}
			}
		}
	}
	return nil
}

// checkClients is that clients trust what each node serves.
func (s *sim) checkClients() error {
	for name, pod := range s.pods {
		if held := s.secrets[ClusterCACertSecret("c")]; held != nil {
			var all []byte
			for _, name := range slices.Sorted(maps.Keys(held.Data)) {
				all = append(all, held.Data[name]...)
			}
			if err := s.verify(all, pod.serves); err != nil {
				return fmt.Errorf("clients do not trust %s: %w", name, err)
			}
		}
	}
	return nil
}

func (s *sim) checkKeys() error {
	for key, cert := range map[string]string{ClusterCAKeySecret("c"): ClusterCACertSecret("c"),
		ClientsCAKeySecret("c"): ClientsCACertSecret("c")} {
		if s.secrets[cert] == nil {
			continue
		}
		certs, err := parseCerts(s.secrets[cert].Data[entryCert])
		if err != nil {
			return fmt.Errorf("Secret %s: %w", cert, err)
		}
		found := false
		if held := s.secrets[key]; held != nil {
			for _, data := range held.Data {
				if k, err := parseKey(data); err == nil && sameKey(k.Public(), certs[0].PublicKey) {
					found = true
				}
			}
		}
		if !found {
			return fmt.Errorf("the key of the certificate in Secret %s is lost", cert)
		}
	}
	return nil
}

func (s *sim) verify(trusted, presented []byte) error {
	key := string(trusted) + "\x00" + string(presented)
	if s.verified[key] {
		return nil
	}
	err := verify(trusted, presented, s.now)
	s.verified[key] = err == nil
	return err
}

// verify is what a TLS peer does with a chain.
func verify(trusted, presented []byte, now time.Time) error {
	chain, err := parseCerts(presented)
	if err != nil {
		return err
	}
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AppendCertsFromPEM(trusted)
	for _, cert := range chain[1:] {
		between.AddCert(cert)
	}
	_, err = chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	return err
}

// annotate is what a user does with kubectl.
func (s *sim) annotate(secret, annotation string) {
	if held := s.secrets[secret]; held != nil {
		s.version++
		held.ResourceVersion = fmt.Sprint(s.version)
		held.Annotations[annotation] = "true"
	}
}

// step is one thing that happens.
func (s *sim) step(r *rand.Rand) error {
	var names []string
	for _, n := range s.in.Nodes {
		names = append(names, n.PodName)
	}
	running := slices.Sorted(maps.Keys(s.pods))
	switch n := r.IntN(100); {
	case n < 30:
		return s.pass(1000, s.check)
	case n < 45: // the operator ends between two writes
		return s.pass(r.IntN(8), s.check)
	case n < 52: // something cannot be read
		unknown := append([]string{"pods", ClusterCAKeySecret("c"), ClusterCACertSecret("c"), ClientsCAKeySecret("c"), TrustBundleSecret("c"),
			OperatorSecret("c")}, names...)
		err := s.pass(1000, s.check, unknown[r.IntN(len(unknown))])
		if e := (*Error)(nil); errors.As(err, &e) && e.Reason == ReasonUnknown {
			return nil
		}
		return err
	case n < 75:
		s.roll(r.IntN)
	case n < 80 && len(running) > 0: // a container ends, and reads one volume before the other is refreshed
		s.reload(running[r.IntN(len(running))], r.IntN(2) == 0, r.IntN(2) == 0)
	case n < 83 && len(running) > 0: // a pod ends
		delete(s.pods, running[r.IntN(len(running))])
	case n < 86:
		s.annotate(ClusterCAKeySecret("c"), AnnotationForceReplace)
	case n < 88:
		s.annotate(ClusterCACertSecret("c"), AnnotationForceRenew)
	case n < 89:
		s.annotate(ClientsCAKeySecret("c"), AnnotationForceReplace)
	case n < 90:
		s.in.ClusterCA.ReplaceKey = !s.in.ClusterCA.ReplaceKey
	case n < 93 && len(s.in.Nodes) < 6:
		s.in.Nodes = append(s.in.Nodes, node(s.nodes))
		s.nodes++
	case n < 95 && len(s.in.Nodes) > 2: // a node is taken out; its pod ends with its declaration
		gone := s.in.Nodes[0].PodName
		s.in.Nodes = s.in.Nodes[1:]
		delete(s.declared, gone)
		delete(s.pods, gone)
	case n < 96: // a pool is removed, or comes back
		i := r.IntN(len(s.in.Nodes))
		s.in.Nodes[i].RenewOnly = !s.in.Nodes[i].RenewOnly
	case n < 97: // names change
		i := r.IntN(len(s.in.Nodes))
		s.in.Nodes[i].SANs = append(slices.Clone(s.in.Nodes[i].SANs[:2]), fmt.Sprintf("x%d.example.com", r.IntN(1000)))
	case n < 98 && r.IntN(4) == 0: // a node's Secret is deleted
		delete(s.secrets, names[r.IntN(len(names))])
	default:
		clear(s.verified)
		s.now = s.now.Add(time.Duration(r.IntN(10*24)) * time.Hour)
		return s.pass(1000, s.check)
	}
	return s.check()
}
