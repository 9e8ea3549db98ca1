package pki

import (
	"bytes"
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

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// testKey generates ECDSA keys, which are fast to generate, also for CAs.
func testKey(Use) (crypto.Signer, error) {
	return ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader)
}

// sim simulates a Kafka cluster: Secrets, StrimziPodSets, and pods that read Secrets when they start.
type sim struct {
	in       Input // without what a pass reads
	secrets  map[string]*corev1.Secret
	declared map[string]map[string]string // annotations of pods in StrimziPodSets
	pods     map[string]*simPod
	now      time.Time
	version  int
	nodes    int            // all that ever existed
	restarts map[string]int // by node
	last     Result
	verified map[string]bool // chains that were verified at this time

	// plan is Plan, or Plan with a planted fault.
	plan func(Input) (Result, error)
}

// simPod is a running node. It read the certificates that it trusts and serves from Secrets after its start, each at its own time.
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

// read returns the input of a pass. unknown names the Secrets that the pass fails to read; "pods" stands for the pods.
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

// pass runs a pass of the operator and carries out its first writes. It calls check after each of them.
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
			return nil // conflict: the next pass reads again
		}
		s.version++
		secret := d.DeepCopy()
		secret.ResourceVersion = fmt.Sprint(s.version)
		s.secrets[d.Name] = secret
		if err := check(); err != nil {
			return fmt.Errorf("after the write of %s: %w", d.Name, err)
		}
	}
	// The operator writes StrimziPodSets one by one as well.
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

// start starts a declared pod if it does not run, and makes it read its Secrets.
func (s *sim) start(name string) {
	if s.secrets[name] == nil || s.secrets[TrustBundleSecret("c")] == nil {
		return // the kubelet waits for the Secrets
	}
	if s.pods[name] == nil {
		s.pods[name] = &simPod{annotations: maps.Clone(s.declared[name])}
	}
	s.reload(name, true, true)
}

// reload restarts the container of a pod, which reads the present content of its volumes.
func (s *sim) reload(name string, trust, serve bool) {
	pod := s.pods[name]
	if trust || pod.trusts == nil {
		pod.trusts = s.secrets[TrustBundleSecret("c")].Data[bundleCluster]
	}
	if (serve || pod.serves == nil) && s.secrets[name] != nil {
		pod.serves = s.secrets[name].Data[name+suffixCert]
	}
}

// outdated returns the nodes whose pods are missing or differ from their declaration.
func (s *sim) outdated() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.declared)) {
		if pod := s.pods[name]; pod == nil || !maps.Equal(pod.annotations, s.declared[name]) {
			names = append(names, name)
		}
	}
	return names
}

// roll restarts one outdated pod, as the roller does.
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

// converge runs passes and restarts pods until nothing changes.
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

// check checks the promises: each node trusts the certificates of all nodes and of the operators, clients trust the certificate of each
// node, and no certificate of a CA whose key is lost is published.
func (s *sim) check() error { return errors.Join(s.checkNodes(), s.checkClients(), s.checkKeys()) }

// checkNodes checks that nodes trust each other and the operators.
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

// checkClients checks that clients trust the certificate of each node.
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

// verify verifies a chain as a TLS peer does, that of the strictest TLS library.
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
	paths, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	if err == nil && !slices.ContainsFunc(paths, identified) {
		return errors.New("no trusted certificate has the key identifier that the one which it signed names")
	}
	return err
}

// identified reports whether each certificate names its issuer by the identifier that this has, which Java and OpenSSL require.
func identified(path []*x509.Certificate) bool {
	for i, issuer := range path[1:] {
		if named := path[i].AuthorityKeyId; len(named) > 0 && len(issuer.SubjectKeyId) > 0 && !bytes.Equal(named, issuer.SubjectKeyId) {
			return false
		}
	}
	return true
}

// adopt gives a new cluster CAs that another program made, with identifiers of its own.
func (s *sim) adopt() error {
	if err := s.pass(4, s.check); err != nil {
		return err
	}
	certify(s, ClusterCAKeySecret("c"), identify)
	certify(s, ClientsCAKeySecret("c"), identify)
	return nil
}

// identify gives a CA's certificate another identifier than the one which the operator gives to new ones.
func identify(cert *x509.Certificate) { cert.SubjectKeyId = []byte{1, 2, 3} }

// annotate sets an annotation of a Secret, as a user does with kubectl.
func (s *sim) annotate(secret, annotation string) {
	if held := s.secrets[secret]; held != nil {
		s.version++
		held.ResourceVersion = fmt.Sprint(s.version)
		held.Annotations[annotation] = "true"
	}
}

// step carries out one random event.
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
	case n < 80 && len(running) > 0: // a container restarts before all of its volumes are refreshed
		s.reload(running[r.IntN(len(running))], r.IntN(2) == 0, r.IntN(2) == 0)
	case n < 83 && len(running) > 0: // a pod ends
		delete(s.pods, running[r.IntN(len(running))])
	case n < 86:
		s.annotate(ClusterCAKeySecret("c"), v1.AnnotationForceReplace)
	case n < 88:
		s.annotate(ClusterCACertSecret("c"), v1.AnnotationForceRenew)
	case n < 89:
		s.annotate(ClientsCAKeySecret("c"), v1.AnnotationForceReplace)
	case n < 90:
		s.in.ClusterCA.ReplaceKey = !s.in.ClusterCA.ReplaceKey
	case n < 93 && len(s.in.Nodes) < 6:
		s.in.Nodes = append(s.in.Nodes, node(s.nodes))
		s.nodes++
	case n < 95 && len(s.in.Nodes) > 2: // a node is removed, and its pod with its declaration
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
