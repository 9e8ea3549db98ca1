package pki

import (
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// Plan decides what the certificates of a Kafka cluster should be. The error, an *Error where a user or a later read can help, means that
// nothing may be changed that depends on certificates: what runs keeps running.
func Plan(in Input) (Result, error) {
	windows := parseSchedule(in.Windows)
	r := Result{PodAnnotations: map[string]map[string]string{}}
	w, err := newWorld(&in)
	if err != nil {
		return Result{}, err
	}
	cluster, clusterErr := prepare(&in, clusterKind(in.Cluster), in.ClusterCA, w, windows)
	clients, clientsErr := prepare(&in, clientsKind(in.Cluster), in.ClientsCA, w, windows)
	if unusable, is := errors.AsType[*Error](clientsErr); is && clusterErr == nil && clients.trustOnly(w, unusable) {
		r.ClientsCAError, clientsErr = unusable, nil
	}
	if err := errors.Join(clusterErr, clientsErr); err != nil {
		return Result{}, err
	}
	phase := w.phase(cluster)
	// What the CA's own Secrets lost is taken before they are cleaned up.
	former, err := cluster.takeFormer(&in, w, phase, windows)
	if err != nil {
		return Result{}, err
	}
	inUse := cluster.inUse(former, w.leaves)
	if err := r.putCAs(&in, cluster, clients, phase, w.moved(cluster)); err != nil {
		return Result{}, err
	}
	bundle := withKeysOf(cluster.trusted(), former)
	r.TrustBundle = trustBundle(&in, cluster, clients, bundle)
	r.ClusterCA, r.ClientsCA = cluster.state(phase, bundle), clients.state(Settled, clients.trusted())
	for _, cert := range inUse {
		r.ClusterCA.Validity = r.ClusterCA.Validity.first(Validity{cert.NotAfter, cert.NotAfter.Add(-cluster.config.renewal())})
		r.Problems = append(r.Problems, warnOfFormer(cluster.kind, cert, in.Now)...)
	}

	i := issuer{signer: cluster.current(), current: cluster.current(), trusted: bundle, config: cluster.config, windows: windows}
	if phase == Distributing {
		i.distribute(&r, cluster, former, w.leaves)
	}
	r.serve(&in, w, windows)
	if err := r.putLeaves(&in, i, w, cluster, clients); err != nil {
		return Result{}, err
	}
	r.schedule(&in, windows, w, cluster, clients)
	return r, nil
}

// takeFormer returns the former certificates of the CA that nodes still depend on while its key is replaced, renewed where they expire.
func (a *authority) takeFormer(in *Input, w *world, phase Phase, windows schedule) ([]*x509.Certificate, error) {
	if phase == Settled {
		return nil, nil
	}
	former := w.former(a)
	if !a.config.Generate {
		return former, nil
	}
	a.adopt(former)
	return a.renewFormer(in, former, phase, windows)
}

// withKeysOf returns the certificates, and those others whose keys they lack.
func withKeysOf(certs, others []*x509.Certificate) []*x509.Certificate {
	for _, cert := range others {
		if !hasKey(certs, cert) {
			certs = append(certs, cert)
		}
	}
	return certs
}

// prepare reads a CA, decides about it and does what was decided. With an error, the CA is as it was read; nil if it could not be read.
func prepare(in *Input, k kind, config CAConfig, w *world, windows schedule) (*authority, error) {
	a, err := parseAuthority(in, k, config)
	if err != nil {
		return nil, err
	}
	if config.Generate {
		for _, secret := range []*corev1.Secret{a.keySecret, a.certSecret} {
			if secret == nil {
				continue
			}
			if err := ours(in, secret); err != nil {
				return a, err
			}
		}
		a.settleGenerations(w)
	}
	if err := a.decide(in, w, windows); err != nil {
		return a, err
	}
	if err := a.operate(in, w); err != nil {
		return a, err
	}
	if k.subject != clusterSubject || !w.unexplained(a) {
		return a, nil
	}
	if !config.Generate {
		return a, &Error{Reason: ReasonSuppliedCA, Message: fmt.Sprintf(
			"%s: the key in Secret %s/%s was replaced, but its annotation %s was not raised. Raise it, and %s on Secret %s, and keep the "+
				"former certificate there, so that nodes trust both keys before the new one is used",
			k.title, in.Namespace, k.keySecret, v1.AnnotationCAKeyGeneration, v1.AnnotationCACertGeneration, k.certSecret)}
	}
	a.keyGeneration = max(a.keyGeneration, w.seenKey(a)) + 1
	a.certGeneration = max(a.certGeneration, w.seenCert(a)) + 1
	a.set(ReplaceKey, "the Secrets have a CA other than the one that nodes depend on: somebody replaced them")
	return a, nil
}

// putCAs adds the Secrets of the CAs that are generated.
func (r *Result) putCAs(in *Input, cluster, clients *authority, phase Phase, moved bool) error {
	for _, a := range []*authority{cluster, clients} {
		r.Problems = append(r.Problems, a.warn(in.Now)...)
		r.Problems = append(r.Problems, a.warnOfKeys()...)
		r.Problems = append(r.Problems, a.warnOfAnnotations()...)
		if a.config.RenewalDays >= a.config.ValidityDays {
			r.Problems = append(r.Problems, Problem{ReasonRenewal, fmt.Sprintf(
				"%s: renewalDays (%d) is not less than validityDays (%d); a third of validityDays is used instead", a.kind.title, a.config.RenewalDays,
				a.config.ValidityDays)})
		}
		if a.operation != None && a.operation != Supplied && a.operation != TrustOnly {
			r.Decisions = append(r.Decisions, Decision{a.kind.keySecret, string(a.operation), a.reason})
		}
		if !a.config.Generate || a.operation == TrustOnly {
			continue
		}
		// The clients CA signs nothing that nodes serve: its old key is needed only until the new certificate is published.
		settled := a.operation != ReplaceKey && (a == clients || phase == Settled && moved)
		a.cleanUp(in, settled)
		secrets, err := a.secrets(in, settled)
		if err != nil {
			return err
		}
		r.CAs = append(r.CAs, secrets...)
	}
	return nil
}

func (a *authority) state(phase Phase, trusted []*x509.Certificate) CAState {
	return CAState{
		Operation: a.operation, Reason: a.reason, Phase: phase, CertGeneration: a.certGeneration, KeyGeneration: a.keyGeneration,
		TrustPEM: encodeCerts(trusted...), Validity: Validity{a.cert().NotAfter, a.due()},
	}
}

func trustBundle(in *Input, cluster, clients *authority, trusted []*x509.Certificate) Desired {
	name := TrustBundleSecret(in.Cluster)
	existing := in.fact(name).Secret
	secret := base(in, name, existing, component{name: "strimzi", kind: "trust-bundle"}, true)
	secret.Annotations[core.AnnotationClusterCACertGeneration] = strconv.Itoa(cluster.certGeneration)
	secret.Annotations[core.AnnotationClientsCACertGeneration] = strconv.Itoa(clients.certGeneration)
	secret.Data = map[string][]byte{bundleCluster: encodeCerts(trusted...), bundleClients: encodeCerts(clients.trusted()...)}
	return desired(secret, existing)
}

// distribute lets the old key sign while some nodes trust no other. Without the old key, existing certificates stay. Where all certificates
// are of the new key, it was known once that all nodes trust it, and only now it is not, since some pods are unknown: it goes on to sign.
func (i *issuer) distribute(r *Result, a *authority, former []*x509.Certificate, leaves []*leaf) {
	i.accepted = append([]*x509.Certificate{a.cert()}, former...)
	if allOf(a.cert(), leaves) {
		return
	}
	if at := a.signs(former); at >= 0 {
		i.signer = pair{a.keyOf(former[at]), former[at], max(a.certGeneration-1, 0)}
		return
	}
	i.frozen = true
	for _, l := range leaves {
		if flaw := i.flaw(l, time.Time{}); flaw != "" && !l.unknown {
			r.Problems = append(r.Problems, Problem{ReasonOldKeyGone, fmt.Sprintf(
				"the key of the old CA is lost (%s): Secret %s gets a certificate of the new CA, which nodes trust only after a restart. If you "+
					"have the old key, put it into Secret %s as %s",
				flaw, l.secretName, a.kind.keySecret, a.formerKeyEntry(former))})
		}
	}
}

// allOf reports whether it is known of all leaves, as far as they exist, that a CA signed them, and that some exist.
func allOf(ca *x509.Certificate, leaves []*leaf) bool {
	exists := func(l *leaf) bool { return l.cert != nil }
	other := func(l *leaf) bool { return l.unknown || exists(l) && !l.signedBy(ca) }
	return slices.ContainsFunc(leaves, exists) && !slices.ContainsFunc(leaves, other)
}

// putLeaves adds the Secrets of leaves and what pods must carry.
func (r *Result) putLeaves(in *Input, i issuer, w *world, cluster, clients *authority) error {
	distrusted := ""
	for _, ca := range r.CAs {
		if ca.Name == cluster.kind.keySecret {
			distrusted = ca.Annotations[AnnotationDistrustedKey]
		}
	}
	for _, l := range w.leaves {
		if l.unknown { // neither made nor changed; nor is its pod
			if in.fact(l.secretName).State != Unknown {
				r.Problems = append(r.Problems, warnOfNameless(in, l))
			}
			continue
		}
		secret, err := i.desire(in, l, r)
		if err != nil {
			return err
		}
		r.Leaves = append(r.Leaves, secret)
		if l.pod == "" {
			continue
		}
		annotations := map[string]string{
			core.AnnotationClusterCACertGeneration: secret.Annotations[core.AnnotationClusterCACertGeneration],
			core.AnnotationClusterCAKeyGeneration:  strconv.Itoa(cluster.keyGeneration),
			core.AnnotationClientsCACertGeneration: strconv.Itoa(clients.certGeneration),
			core.AnnotationServerCertHash:          thumbprint(l.cert),
		}
		if distrusted != "" {
			maps.Copy(annotations, map[string]string{AnnotationDistrustedKey: distrusted})
		}
		r.PodAnnotations[l.pod] = annotations
	}
	return nil
}

// warnOfNameless reports a running node that gets no certificate because nothing says which names that needs.
func warnOfNameless(in *Input, l *leaf) Problem {
	return Problem{ReasonNotRenewed, fmt.Sprintf("Secret %s/%s is missing, or has no readable certificate, and is not made again before the "+
		"Kafka can be reconciled, which says what names the certificate needs. Until then, node %s is not restarted for another certificate, "+
		"does not start again if its pod ends, and holds up a new key of the cluster CA. Fix what the condition Ready says, or restore the "+
		"Secret from a backup", in.Namespace, l.secretName, l.pod)}
}

// OfPod returns those annotations of a pod that Result.PodAnnotations may have.
func OfPod(annotations map[string]string) map[string]string {
	of := map[string]string{}
	for _, key := range []string{core.AnnotationClusterCACertGeneration, core.AnnotationClusterCAKeyGeneration,
		core.AnnotationClientsCACertGeneration, core.AnnotationServerCertHash, AnnotationDistrustedKey} {
		if value, ok := annotations[key]; ok {
			of[key] = value
		}
	}
	return of
}

// lookAt requests the next pass at t at the latest.
func (r *Result) lookAt(t time.Time) {
	if r.Next.IsZero() || t.Before(r.Next) {
		r.Next = t
	}
}

// waitFor requests the next pass when a window opens, or when it no longer counts for a certificate that expires then.
func (r *Result) waitFor(windows schedule, now, notAfter time.Time) {
	if next, ok := windows.Next(now.Add(time.Second)); ok {
		r.lookAt(next)
	}
	if last := notAfter.Add(-lastChance); last.After(now) && !windows.always {
		r.lookAt(last)
	}
}

// schedule finds when something is due next.
func (r *Result) schedule(in *Input, windows schedule, w *world, cluster, clients *authority) {
	due := func(at, notAfter time.Time) {
		if at.After(in.Now) {
			r.lookAt(at)
			return
		}
		r.waitFor(windows, in.Now, notAfter)
	}
	for _, a := range []*authority{cluster, clients} {
		switch {
		case a.operation == Postponed:
			due(in.Now, a.cert().NotAfter)
		case a.operation == TrustOnly: // its user fixes it
		case a.config.Generate || a.due().After(in.Now):
			due(a.due(), a.cert().NotAfter)
		}
	}
	for _, l := range w.leaves {
		if l.cert != nil {
			due(l.due(cluster.config), l.cert.NotAfter)
		}
	}
}
