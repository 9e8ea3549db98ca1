package pki

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	kafka "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
)

// component is the component of a Secret, for its labels.
type component struct{ name, kind string }

// ours checks that a Secret with one of our names belongs to the Kafka cluster. Plan never writes another one.
func ours(in *Input, secret *corev1.Secret) error {
	if ownership.Copy(secret, "Secret") {
		return &Error{Reason: ReasonForeign, Message: fmt.Sprintf(
			"Secret %s/%s is a copy of %s according to its annotation %s: the operator does not change it. Delete or rename it, or remove the "+
				"annotation",
			in.Namespace, secret.Name, secret.Annotations[ownership.MarkSelf], ownership.MarkSelf)}
	}
	if ownership.Remote(secret) {
		return &Error{Reason: ReasonForeign, Message: fmt.Sprintf(
			"Secret %s/%s belongs to a Kafka with another central cluster, according to its %s: choose another name for this Kafka or for its "+
				"KafkaNodePool",
			in.Namespace, secret.Name, ownership.MarkID)}
	}
	if secret.Labels[kafka.LabelCluster] == in.Cluster && secret.Labels[core.LabelKind] == core.KindKafka {
		return nil
	}
	if other := secret.Labels[kafka.LabelCluster]; other != "" && other != in.Cluster {
		return &Error{Reason: ReasonForeign, Message: fmt.Sprintf(
			"Secret %s/%s belongs to cluster %s according to its label %s, not to Kafka %s: choose another name for this Kafka or for its "+
				"KafkaNodePool",
			in.Namespace, secret.Name, other, kafka.LabelCluster, in.Cluster)}
	}
	return &Error{Reason: ReasonForeign, Message: fmt.Sprintf(
		"Secret %s/%s exists and does not belong to Kafka %s: it lacks the labels %s=%s and %s=%s. Delete or rename it, or add the labels",
		in.Namespace, secret.Name, in.Cluster, core.LabelKind, core.KindKafka, kafka.LabelCluster, in.Cluster)}
}

// base is a Secret as it exists, or a new one, with labels and owner as they should be.
func base(in *Input, name string, existing *corev1.Secret, c component, owned bool) *corev1.Secret {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: in.Namespace}, Type: corev1.SecretTypeOpaque}
	if existing != nil {
		secret = existing.DeepCopy()
	}
	secret.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}
	for _, m := range []*map[string]string{&secret.Labels, &secret.Annotations} {
		if *m == nil {
			*m = map[string]string{}
		}
	}
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	forgetLabels(secret)
	if name == ClusterCACertSecret(in.Cluster) {
		dress(secret, in.ClusterCACert)
	}
	maps.Copy(secret.Labels, in.Labels)
	if len(in.CopiedLabels) > 0 {
		secret.Annotations[AnnotationLabels] = strings.Join(in.CopiedLabels, ",")
	}
	maps.Copy(secret.Labels, map[string]string{
		core.LabelKind: core.KindKafka, kafka.LabelCluster: in.Cluster, core.LabelName: c.name, core.LabelComponentType: c.kind,
	})
	ownership.MarkName(secret, "Secret")
	own(in, secret, owned)
	return secret
}

// forgetLabels takes the labels away that a Secret has from the Kafka: whoever selects Secrets by one that the user removed, such as a
// backup, must not get keys any more.
func forgetLabels(secret *corev1.Secret) {
	for key := range strings.SplitSeq(secret.Annotations[AnnotationLabels], ",") {
		delete(secret.Labels, key)
	}
	delete(secret.Annotations, AnnotationLabels)
}

// dress gives a Secret the labels and annotations of the user's template, and takes those away that it had from an earlier one.
func dress(secret *corev1.Secret, template Metadata) {
	var had struct{ Labels, Annotations []string }
	_ = json.Unmarshal([]byte(secret.Annotations[AnnotationTemplate]), &had) // what is unreadable names nothing
	for _, key := range had.Labels {
		delete(secret.Labels, key)
	}
	for _, key := range append(had.Annotations, AnnotationTemplate) {
		delete(secret.Annotations, key)
	}
	if len(template.Labels)+len(template.Annotations) == 0 {
		return
	}
	maps.Copy(secret.Labels, template.Labels)
	maps.Copy(secret.Annotations, template.Annotations)
	had.Labels, had.Annotations = slices.Sorted(maps.Keys(template.Labels)), slices.Sorted(maps.Keys(template.Annotations))
	if text, err := json.Marshal(had); err == nil { // it always is
		secret.Annotations[AnnotationTemplate] = string(text)
	}
}

// own makes the Kafka an owner of a Secret, or no owner. Other owners stay.
func own(in *Input, secret *corev1.Secret, owned bool) {
	if in.Owner == nil {
		return
	}
	secret.OwnerReferences = slices.DeleteFunc(secret.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == in.Owner.UID })
	if owned {
		secret.OwnerReferences = append(secret.OwnerReferences, *in.Owner)
	}
	if len(secret.OwnerReferences) == 0 {
		secret.OwnerReferences = nil
	}
}

// desired compares a Secret with the one that exists.
func desired(secret, existing *corev1.Secret) Desired {
	if existing == nil {
		return Desired{secret, Create}
	}
	same := maps.Equal(secret.Labels, existing.Labels) && maps.Equal(secret.Annotations, existing.Annotations) &&
		maps.EqualFunc(secret.Data, existing.Data, bytes.Equal) && equality.Semantic.DeepEqual(secret.OwnerReferences, existing.OwnerReferences)
	if same {
		return Desired{secret, Keep}
	}
	return Desired{secret, Update}
}

// Trusted returns the certificates of the cluster CA in the Secret of TrustBundleSecret; nil if it is nil.
func Trusted(bundle *corev1.Secret) []byte {
	if bundle == nil {
		return nil
	}
	return bundle.Data[bundleCluster]
}

// Public returns the Secret with a CA's certificates as other Kubernetes clusters get it: with the certificates, and a store of them. If
// the operator generates the CA, that is the one that it made; else one of the certificates alone, where the user's Secret has one.
// Anything else that is in it may be the CA's key, and is empty there: so the key that an earlier version copied is overwritten, and a
// Secret of type kubernetes.io/tls has the entries that it needs.
func Public(secret *corev1.Secret, generated bool) *corev1.Secret {
	public := secret.DeepCopy()
	for entry, data := range secret.Data {
		switch {
		case strings.HasSuffix(entry, suffixCert):
			public.Data[entry] = append([]byte{}, Certificates(data)...)
		case generated && (entry == entryStore || entry == entryPassword):
		default:
			public.Data[entry] = []byte{}
		}
	}
	if !generated && len(secret.Data[entryStore]) > 0 {
		putPublicStore(public.Data)
	}
	return public
}

// Certifies reports whether the certificate of a node is for all of these names and addresses, and returns the hash that a pod carries that
// serves it.
func Certifies(secret *corev1.Secret, pod string, names []string) (hash string, all bool) {
	if secret == nil {
		return "", false
	}
	certs, err := parseCerts(secret.Data[pod+suffixCert])
	if err != nil {
		return "", false
	}
	for _, name := range names {
		if certs[0].VerifyHostname(name) != nil {
			return "", false
		}
	}
	return thumbprint(certs[0]), true
}
