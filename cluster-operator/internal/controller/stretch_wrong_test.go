package controller

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/clusters"
)

// wrongPlaces are annotations of a Kafka and its pools that contradict each other or the operator's settings: those of the tables of
// TestWhereAKafkaIsStretched in package validate, which has the messages.
var wrongPlaces = map[string]struct {
	configured bool
	kafka      string
	// pools are the target clusters of the pools central and east; "" is none.
	pools  [2]string
	reason string
}{
	"operator no, Kafka no, pools some":           {false, "", [2]string{"central", ""}, "OperatorNotConfigured"},
	"operator no, Kafka no, pools all":            {false, "", [2]string{"central", "east"}, "OperatorNotConfigured"},
	"operator no, Kafka yes, pools none":          {false, "true", [2]string{}, "OperatorNotConfigured"},
	"operator no, Kafka yes, pools some":          {false, "true", [2]string{"", "east"}, "OperatorNotConfigured"},
	"operator no, Kafka yes, pools all":           {false, "true", [2]string{"central", "east"}, "OperatorNotConfigured"},
	"operator yes, Kafka no, pools some":          {true, "", [2]string{"", "east"}, "MissingStretchAnnotation"},
	"operator yes, Kafka no, pools all":           {true, "", [2]string{"central", "east"}, "MissingStretchAnnotation"},
	"operator yes, Kafka not quite, pools all":    {true, "True", [2]string{"central", "east"}, "MissingStretchAnnotation"},
	"operator yes, Kafka yes, pools none":         {true, "true", [2]string{}, "MissingTargetCluster"},
	"operator yes, Kafka yes, pools some":         {true, "true", [2]string{"central", ""}, "MissingTargetCluster"},
	"operator yes, Kafka yes, pools some unknown": {true, "true", [2]string{"central", "north"}, "InvalidTargetCluster"},
	"operator yes, Kafka yes, pools all unknown":  {true, "true", [2]string{"south", "north"}, "InvalidTargetCluster"},
}

// annotated returns annotations with a value for a key, without the key if the value is empty.
func annotated(annotations map[string]string, key, value string) map[string]string {
	annotations = with(annotations, key, value)
	if value == "" {
		delete(annotations, key)
	}
	return annotations
}

// TestWrongPlacesMakeAndHarmNothing creates Kafkas with each of these, and makes each of a Kafka that runs: only statuses are written.
func TestWrongPlacesMakeAndHarmNothing(t *testing.T) {
	w := newStretchedWorld(t)
	configured := w.r.Stretching
	play := func(t *testing.T, configure bool, reason string) {
		t.Helper()
		if !configure {
			w.r.Stretching = nil
			defer func() { w.r.Stretching = configured }()
		}
		before := w.made()
		w.pass()
		w.pass()
		w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", reason)))
		w.Expect(w.made()).To(Equal(before))
	}
	for name, c := range wrongPlaces {
		t.Run("first/"+name, func(t *testing.T) {
			kafka, central, east := newKafka(), nodePool("central", 1, v1.RoleBroker, v1.RoleController), nodePool("east", 1, v1.RoleBroker)
			kafka.Annotations = annotated(nil, v1.AnnotationStretch, c.kafka)
			central.Annotations = annotated(nil, v1.AnnotationTargetCluster, c.pools[0])
			east.Annotations = annotated(nil, v1.AnnotationTargetCluster, c.pools[1])
			w.create(kafka, central, east)
			play(t, c.configured, c.reason)
			for _, o := range []client.Object{kafka, central, east} {
				w.Expect(w.k8s.Delete(t.Context(), o)).To(Succeed())
			}
		})
	}
	w.form()
	alter := func(kafka, central, east string) {
		w.edit(func(k *v1.Kafka) { k.Annotations = annotated(k.Annotations, v1.AnnotationStretch, kafka) })
		w.change("central", func(p *v1.KafkaNodePool) {
			p.Annotations = annotated(p.Annotations, v1.AnnotationTargetCluster, central)
		})
		w.change("east", func(p *v1.KafkaNodePool) { p.Annotations = annotated(p.Annotations, v1.AnnotationTargetCluster, east) })
	}
	for name, c := range wrongPlaces {
		t.Run("later/"+name, func(t *testing.T) {
			alter(c.kafka, c.pools[0], c.pools[1])
			play(t, c.configured, c.reason)
		})
	}
	alter("true", "central", "east")
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"), "it goes on with what is right again")
}

// refusedMember is a connection with a kubeconfig that can't be used.
type refusedMember struct {
	Member
	err error
}

func (m refusedMember) Status() clusters.Status {
	return clusters.Status{ID: m.ID(), State: clusters.Refused, Reason: clusters.ReasonKubeconfigInvalid, Message: m.err.Error(),
		Secret: "kubeconfig-" + m.ID()}
}
func (m refusedMember) Reader() client.Reader          { return lostReader{} }
func (m refusedMember) APIReader() client.Reader       { return lostReader{} }
func (m refusedMember) Client() (client.Client, error) { return nil, errLost }

// TestWrongKubeconfigsMakeAndHarmNothing creates a Kafka while the kubeconfig of a Kubernetes cluster can't be used, and starts the
// operator with it while the Kafka runs: nothing is made anywhere, and nothing there is taken for gone.
func TestWrongKubeconfigsMakeAndHarmNothing(t *testing.T) {
	const right = `{clusters: [{name: c, cluster: {server: "https://192.0.2.9:6443"}}], users: [{name: u, user: {token: hunter2}}],
		contexts: [{name: x, context: {cluster: c, user: u}}], current-context: x}`
	_, err := clusters.ReadKubeconfig([]byte(right), "")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	wrong := map[string]error{}
	for name, kubeconfig := range map[string]string{
		"no YAML":        "token: [hunter2",
		"empty":          "",
		"no context":     strings.Replace(right, "current-context: x", "current-context: other", 1),
		"no server":      strings.Replace(right, `server: "https://192.0.2.9:6443"`, "", 1),
		"another scheme": strings.Replace(right, "https", "ftp", 1),
		"a command":      strings.Replace(right, "token: hunter2", "exec: {command: sh, apiVersion: client.authentication.k8s.io/v1}", 1),
		"a file":         strings.Replace(right, "token: hunter2", "tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token", 1),
	} {
		_, wrong[name] = clusters.ReadKubeconfig([]byte(kubeconfig), "")
		NewWithT(t).Expect(wrong[name]).To(HaveOccurred(), name)
	}
	w := newStretchedWorld(t)
	members := w.r.Stretching.Members
	refuse := func(err error) {
		w.r.Stretching.Members = func() []Member {
			all := members()
			for i, m := range all {
				if m.ID() == "east" {
					all[i] = refusedMember{m, err}
				}
			}
			return all
		}
	}
	told := func(err error) gomegatypes.GomegaMatcher {
		return HaveField("Message", And(HavePrefix("Cannot connect to cluster 'east': "), ContainSubstring(err.Error()),
			Not(ContainSubstring("hunter2"))))
	}
	w.create(stretchedKafka(), poolIn("central", "central", 1, v1.RoleBroker, v1.RoleController),
		poolIn("east", "east", 1, v1.RoleBroker), poolIn("west", "west", 1, v1.RoleBroker))
	for name, err := range wrong {
		t.Run("first/"+name, func(t *testing.T) {
			refuse(err)
			before := w.made()
			w.pass()
			w.pass()
			w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "ConnectivityError"), told(err)))
			w.Expect(w.made()).To(Equal(before))
		})
	}
	w.r.Stretching.Members = members
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	for name, err := range wrong {
		t.Run("later/"+name, func(t *testing.T) {
			refuse(err)
			before := w.made()
			w.pass()
			w.pass()
			w.Expect(w.kafka().Status.Conditions).To(ContainElement(And(HaveField("Type", "Degraded"), told(err))))
			w.Expect(w.made()).To(Equal(before))
		})
	}
}
