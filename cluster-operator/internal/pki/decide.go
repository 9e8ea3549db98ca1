package pki

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// decide chooses what is done about a CA in this pass: the first that applies.
func (a *authority) decide(in *Input, w *world, windows schedule) error {
	if !a.config.Generate {
		return a.decideSupplied(in, w)
	}
	replace := a.forced(a.keySecret, v1.AnnotationForceReplace)
	if decided, err := a.decideKey(in, w, replace); decided || err != nil {
		return err
	}
	switch {
	case a.cert() == nil:
		a.set(RenewCert, "the certificate is missing or unreadable")
	case early(a.cert(), in.Now): // a clock was ahead when it was made: no window is waited for, since what it signs is trusted by nobody
		a.set(RenewCert, "the certificate is not valid before "+a.cert().NotBefore.Format(time.RFC3339))
	case w.misnamed(a): // as above, what it signs is trusted by nobody
		a.set(RenewCert, "the certificate has another subject key identifier than the one that nodes trust")
	case w.phase(a) == Settled:
		a.decideMaintenance(in, windows, replace)
	case a.inLastDays(in, a.cert(), windows):
		a.set(RenewCert, "the key is still being replaced, and the certificate expires at "+a.cert().NotAfter.Format(time.RFC3339))
	default:
		a.set(None, "the key is being replaced")
	}
	return nil
}

// decideKey decides about a key that is missing, or is not the one that nodes depend on, and reports whether it did.
func (a *authority) decideKey(in *Input, w *world, replace bool) (decided bool, err error) {
	if a.key == nil && replace {
		a.set(ReplaceKey, "the key is missing, and annotation "+v1.AnnotationForceReplace+" asks for a new one")
		return true, nil
	}
	if a.key == nil {
		return true, a.decideMissingKey(in, w)
	}
	mismatch := a.cert() != nil && !sameKey(a.key.Public(), a.cert().PublicKey)
	later, lost := w.later(a)
	switch {
	case mismatch && a.keyOf(a.cert()) != nil:
		a.set(ReplaceKey, "the replacement of the key was interrupted")
	case mismatch && !replace:
		return true, &Error{Reason: ReasonCAKeyMismatch, Message: fmt.Sprintf(
			"%s: %s in Secret %s/%s does not match %s in Secret %s. The operator changes nothing. Restore both Secrets from one backup; or "+
				"annotate "+
				"Secret %s with %s=true "+
				"to create a new key, %s", a.kind.title, entryKey, in.Namespace, a.kind.keySecret, entryCert, a.kind.certSecret,
			a.kind.keySecret, v1.AnnotationForceReplace, a.kind.costs())}
	case lost && !replace:
		return true, &Error{Reason: ReasonCAKeyLost, Message: fmt.Sprintf(
			"%s. Annotate Secret %s with %s=true to create a new key instead, %s; they do not trust each other meanwhile", a.laterKey(in, later),
			a.kind.keySecret, v1.AnnotationForceReplace, a.kind.costs())}
	case lost: // no window is waited for, since nodes that start anyway do not trust the others
		a.set(ReplaceKey, "pods run with a later key, which is lost, and annotation "+v1.AnnotationForceReplace+" asks for a new one")
	default:
		return false, nil
	}
	return true, nil
}

// laterKey describes that pods run with a later key than the Secrets have.
func (a *authority) laterKey(in *Input, later int) string {
	return fmt.Sprintf("%s: pods run with generation %d of the key, and Secret %s/%s has generation %d, as from an old backup, so that nodes "+
		"which start now would not trust those that run. The operator changes nothing. Restore the Secrets with the key that nodes use",
		a.kind.title, later, in.Namespace, a.kind.keySecret, a.keyGeneration)
}

func (a *authority) set(operation Operation, reason string) {
	a.operation, a.reason = operation, reason
}

// decideMissingKey creates a CA only if nothing depends on an earlier one.
func (a *authority) decideMissingKey(in *Input, w *world) error {
	hanging, err := w.hanging(in, a)
	if err != nil {
		return err
	}
	if hanging == "" && a.keyErr == nil {
		a.set(CreateCA, "it does not exist")
		return nil
	}
	state := "holds no " + entryKey
	if a.keySecret == nil {
		state = "is missing"
	} else if a.keyErr != nil {
		state = "holds an unreadable " + entryKey + " (" + a.keyErr.Error() + ")"
	}
	if hanging != "" {
		state += ", while " + hanging + " still depends on the key"
	}
	way := "annotate it with"
	if a.keySecret == nil {
		way = fmt.Sprintf("create it without data, with the labels strimzi.io/kind=Kafka and strimzi.io/cluster=%s and the annotation",
			in.Cluster)
	}
	return &Error{Reason: ReasonCAKeyLost, Message: fmt.Sprintf(
		"%s: Secret %s/%s %s. The operator creates no new key. Restore the Secret from a backup; or %s %s=true to create a new key, %s",
		a.kind.title, in.Namespace, a.kind.keySecret, state, way, v1.AnnotationForceReplace, a.kind.costs())}
}

// decideMaintenance decides whether to renew the certificate or to replace the key: because the user asks for it by an annotation, or
// because the certificate is due. It postpones either to the next maintenance window, unless the certificate is about to expire and no
// window opens in time.
func (a *authority) decideMaintenance(in *Input, windows schedule, replace bool) {
	notAfter := a.cert().NotAfter
	operation, reason := None, "nothing is due"
	switch {
	case a.forced(a.certSecret, v1.AnnotationForceRenew):
		operation, reason = RenewCert, "annotation "+v1.AnnotationForceRenew
	case replace:
		operation, reason = ReplaceKey, "annotation "+v1.AnnotationForceReplace
	case in.Now.After(a.due()) && a.config.ReplaceKey:
		operation, reason = ReplaceKey, "the certificate expires at "+notAfter.Format(time.RFC3339)
	case in.Now.After(a.due()):
		operation, reason = RenewCert, "the certificate expires at "+notAfter.Format(time.RFC3339)
	}
	if operation != None && !windows.mayRenew(in.Now, notAfter) {
		reason = fmt.Sprintf("%s (%s) waits for the next maintenance window", operation, reason)
		operation = Postponed
	}
	a.set(operation, reason)
}

// due is when the current certificate should be made again.
func (a *authority) due() time.Time { return a.cert().NotAfter.Add(-a.config.renewal()) }

// refuse is the error that a user's CA can't be used.
func refuse(format string, args ...any) error {
	return &Error{Reason: ReasonSuppliedCA, Message: fmt.Sprintf(format, args...)}
}

// decideSupplied checks a CA that the user supplies, by itself and by what nodes depend on.
func (a *authority) decideSupplied(in *Input, w *world) error {
	if err := a.checkSupplied(in); err != nil {
		return err
	}
	if w.misnamed(a) {
		return refuse("%s: %s in Secret %s/%s has another subject key identifier (%X) than the former certificate of the same key, which Secret "+
			"%s has: nodes and clients would reject what the other one signs. Make a certificate with the former identifier, or one of a new key%s",
			a.kind.title, entryCert, in.Namespace, a.kind.certSecret, a.cert().SubjectKeyId, TrustBundleSecret(in.Cluster), a.orKeepFormer(w))
	}
	if missing := a.missingGenerations(w); len(missing) > 0 {
		return refuse("%s: missing or invalid annotation: %s. Its value is a number from 0", a.kind.title, strings.Join(missing, ", "))
	}
	if w.unannounced(a) && !w.unexplained(a) { // which has an error of its own
		return refuse("%s: the CA in Secret %s/%s was replaced, but its annotation %s was not raised. Raise it, because it tells which nodes "+
			"have certificates of the new one", a.kind.title, in.Namespace, a.kind.certSecret, v1.AnnotationCACertGeneration)
	}
	if later, lost := w.later(a); lost {
		return refuse("%s. Raise its annotation %s above %d, and %s on Secret %s, to use this key instead, for which nodes are restarted; they "+
			"do not trust each other meanwhile", a.laterKey(in, later), v1.AnnotationCAKeyGeneration, later, v1.AnnotationCACertGeneration,
			a.kind.certSecret)
	}
	if cert := w.dropped(a); cert != nil && !w.unexplained(a) { // as above
		return refuse("%s: Secret %s/%s lacks the CA that signed the certificates which nodes serve until they have new ones, so that neither "+
			"clients nor the operators would trust them. Add its certificate, which Secret %s has, as entry %s", a.kind.title, in.Namespace,
			a.kind.certSecret, TrustBundleSecret(in.Cluster), a.retainedName(cert)+suffixCert)
	}
	a.set(Supplied, "the user supplies this CA")
	return nil
}

// checkSupplied checks the Secrets of a CA that the user supplies. Source of the messages: Strimzi.
func (a *authority) checkSupplied(in *Input) error {
	if a.keySecret == nil || a.certSecret == nil {
		return refuse("%s should not be generated, but the secrets were not found. Create Secrets %s and %s in namespace %s",
			a.kind.title, a.kind.keySecret, a.kind.certSecret, in.Namespace)
	}
	if len(a.chain) == 0 {
		return refuse("Secret %s/%s for CA %s does not contain a readable %s", in.Namespace, a.kind.certSecret, a.kind.constant, entryCert)
	}
	for i := range a.chain[:len(a.chain)-1] {
		if !signed(a.chain[i+1], a.chain[i]) {
			return refuse("Failed to validate User supplied %s cert chain in %s: certificate %d is not signed by the one after it", a.kind.title,
				entryCert, i+1)
		}
	}
	if a.key == nil && a.kind.keySecret == ClusterCAKeySecret(in.Cluster) {
		if a.keyErr != nil {
			return refuse("Secret %s/%s for CA %s holds an unreadable %s: %v", in.Namespace, a.kind.keySecret, a.kind.constant, entryKey, a.keyErr)
		}
		return refuse("Secret %s/%s for CA %s does not contain %s", in.Namespace, a.kind.keySecret, a.kind.constant, entryKey)
	}
	if a.key != nil && !sameKey(a.key.Public(), a.cert().PublicKey) {
		return refuse("%s: %s in Secret %s/%s does not belong to %s in Secret %s", a.kind.title, entryKey, in.Namespace, a.kind.keySecret,
			entryCert, a.kind.certSecret)
	}
	if flaw := caFlaw(a.cert(), in.Now); flaw != "" {
		return refuse("%s: %s in Secret %s/%s %s", a.kind.title, entryCert, in.Namespace, a.kind.certSecret, flaw)
	}
	return nil
}

// orKeepFormer completes advice about another identifier of the same key: what brokers trust may have several.
func (a *authority) orKeepFormer(w *world) string {
	if a.kind.subject == clusterSubject {
		return ""
	}
	at := slices.IndexFunc(w.clients, func(cert *x509.Certificate) bool { return hasKey(a.chain[:1], cert) })
	return ", or keep the former one as entry " + a.retainedName(w.clients[at]) + suffixCert
}

// missingGenerations are the annotations with generations that a user's Secrets lack.
func (a *authority) missingGenerations(w *world) (missing []string) {
	if !a.hasKeyGeneration && !w.startsAt0(a.keySecret, v1.AnnotationCAKeyGeneration, w.seenKey(a)) {
		missing = append(missing, v1.AnnotationCAKeyGeneration+" on Secret "+a.kind.keySecret)
	}
	if !a.hasGeneration && !w.startsAt0(a.certSecret, v1.AnnotationCACertGeneration, w.seenCert(a)) {
		missing = append(missing, v1.AnnotationCACertGeneration+" on Secret "+a.kind.certSecret)
	}
	return missing
}

// startsAt0 reports whether a missing generation counts as 0, as in Strimzi. It does only if it is known that no node had another one. A
// replaced CA then needs the annotation, as it does beside a 0.
func (w *world) startsAt0(secret *corev1.Secret, annotation string, seen int) bool {
	_, set := secret.Annotations[annotation]
	return !set && seen <= 0 && w.podsKnown && !slices.ContainsFunc(w.leaves, func(l *leaf) bool { return l.unknown })
}
