package controller

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
)

// copyOf copies an object under another name, with all labels, annotations and owner references, as users do to keep it, and as replication
// and restore tools do. The operator must not change the copy.
func (h *history) copyOf(key facts.Key, name string) facts.Key {
	h.t.Helper()
	o := copied(h.object(key))
	o.SetName(name)
	o.SetUID("")
	o.SetResourceVersion("")
	if service, is := o.(*corev1.Service); is { // the API server gives a node port once
		for i := range service.Spec.Ports {
			service.Spec.Ports[i].NodePort = 0
		}
	}
	h.must(h.k8s.Create(h.t.Context(), o))
	as := facts.Key{Kind: key.Kind, Name: name}
	h.foreign[h.k8s.server][as] = h.object(as)
	return as
}

var number = regexp.MustCompile(`\d+$`)

// copySomething copies one of the operator's objects: mostly under a name that no object has, sometimes under one that the operator may
// need.
func (h *history) copySomething() string {
	objects := h.all()
	keys := slices.DeleteFunc(sortedKeys(objects), func(k facts.Key) bool {
		return h.foreign[h.k8s.server][k] != nil || objects[k].GetLabels()[v1.LabelCluster] == ""
	})
	if len(keys) == 0 {
		return "nothing"
	}
	key := keys[h.rand.Intn(len(keys))]
	name := key.Name + []string{"-copy", "-7", "-copy-0"}[h.rand.Intn(3)]
	if h.rand.Intn(8) == 0 && number.MatchString(key.Name) {
		name = number.ReplaceAllString(key.Name, fmt.Sprint(h.rand.Intn(7)))
	}
	if h.object(facts.Key{Kind: key.Kind, Name: name}) != nil {
		return "nothing"
	}
	h.copyOf(key, name)
	return fmt.Sprintf("copy %s %s to %s", key.Kind, key.Name, name)
}

// dropCopies deletes the copies whose names the operator needs, as the status asks users to do.
func (h *history) dropCopies() {
	s := h.k8s.server
	for _, key := range sortedKeys(h.foreign[s]) {
		aside := strings.Contains(key.Name, "-copy") || strings.HasSuffix(key.Name, "-7")
		if o := h.object(key); o != nil && ownership.Copy(o, key.Kind) && !aside {
			delete(h.foreign[s], key)
			s.remove(key)
		}
	}
}

// withoutMarks is a cache in which copies look like originals.
type withoutMarks struct{ client.Reader }

func (w withoutMarks) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := w.Reader.List(ctx, list, opts...); err != nil {
		return err
	}
	kind := strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", list), "*"), "List")
	kind = kind[strings.LastIndex(kind, ".")+1:]
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	for i, item := range items {
		items[i] = item.DeepCopyObject()
		o := items[i].(client.Object)
		if _, marked := o.GetAnnotations()[ownership.MarkSelf]; marked {
			ownership.MarkName(o, kind)
		}
	}
	return meta.SetList(list, items)
}

// everything returns a history with a running Kafka, for which the operator made an object of each kind.
func everything(t *testing.T) *history {
	h := newHistory(t, 1)
	h.runs(fullKafka()...)
	return h
}

// TestACopyIsLeftAsItIs checks that the operator leaves copies of its objects, with labels and owner references, unchanged, and learns
// nothing about the Kafka from them.
func TestACopyIsLeftAsItIs(t *testing.T) {
	g := NewWithT(t)
	h := everything(t)
	kinds := map[string]bool{}
	var copies []facts.Key
	for key := range h.all() {
		kinds[key.Kind] = true
		copies = append(copies, h.copyOf(key, key.Name+"-copy"), h.copyOf(key, key.Name+"-77"))
	}
	for _, kind := range facts.Kinds() {
		gvk, err := h.k8s.GroupVersionKindFor(kind)
		h.must(err)
		g.Expect(kinds).To(HaveKey(gvk.Kind))
	}
	before := h.k8s.server.version
	h.passOver("my-cluster")
	g.Expect(h.k8s.server.version).To(Equal(before), "a copy changes nothing")
	change(h, newKafka(), "my-cluster", func(k *v1.Kafka) { k.Spec.Kafka.JvmOptions = &v1.JvmOptions{Xmx: "1g"} })
	h.comeUp()
	g.Expect(h.kafka("my-cluster")).To(isReady("True", "", ""))
	for _, key := range copies {
		g.Expect(h.object(key)).To(BeIdenticalTo(h.foreign[h.k8s.server][key]), "%v", key)
	}
}

// TestACopyUnderAWantedNameIsNamed checks that the status names a copy under a name that the operator needs, and that the copy stays
// unchanged.
func TestACopyUnderAWantedNameIsNamed(t *testing.T) {
	for kind, key := range map[string]facts.Key{
		"a node's Secret":    {Kind: "Secret", Name: "my-cluster-brokers-0"},
		"a node's ConfigMap": {Kind: "ConfigMap", Name: "my-cluster-brokers-0"},
		"a volume":           {Kind: "PersistentVolumeClaim", Name: "data-my-cluster-brokers-0"},
	} {
		t.Run(kind, func(t *testing.T) {
			g := NewWithT(t)
			h := newHistory(t, 1)
			pool := nodePool("brokers", 1, v1.RoleBroker)
			h.runs(newKafka(), nodePool("controllers", 1, v1.RoleController), pool)
			as := h.copyOf(key, strings.TrimSuffix(key.Name, "0")+"2")
			change(h, pool, "brokers", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 2 })
			h.passOver("my-cluster")
			h.passOver("my-cluster")
			ready := *readyOf(h.kafka("my-cluster"))
			g.Expect(ready.Status).To(Equal("False"))
			g.Expect(ready.Message).To(And(ContainSubstring(as.Name), ContainSubstring(key.Kind+"/ns/"+key.Name)))
			g.Expect(h.object(as)).To(BeIdenticalTo(h.foreign[h.k8s.server][as]))
		})
	}
}

// TestAnUpgradeMarksWhatIsWanted checks an upgrade from a version that did not mark objects. The operator marks the objects that it wants
// and changes nothing else. It reports an object that it no longer wants once, and keeps it.
func TestAnUpgradeMarksWhatIsWanted(t *testing.T) {
	g := NewWithT(t)
	h := everything(t)
	extra := h.copyOf(facts.Key{Kind: "Secret", Name: "my-cluster-brokers-0"}, "my-cluster-brokers-9")
	wanted := h.all()
	delete(wanted, facts.Key{Kind: "ConfigMap", Name: "my-cluster-kafka-topics"}) // no version made it without its mark
	for key, o := range wanted {
		annotations := o.GetAnnotations()
		delete(annotations, ownership.MarkSelf)
		delete(annotations, apply.AnnotationAskedFor)
		o.SetAnnotations(annotations)
		h.must(h.k8s.Update(t.Context(), o))
		wanted[key] = o
	}
	h.foreign[h.k8s.server][extra] = h.object(extra)
	pods := h.podsThatRun()
	h.passOver("my-cluster")
	h.passOver("my-cluster")
	for key, before := range wanted {
		o := h.all()[key]
		if key == extra {
			g.Expect(o).To(Equal(before))
			continue
		}
		g.Expect(ownership.Original(o, key.Kind)).To(BeTrue(), "%v", key)
		after := copied(o)
		annotations := after.GetAnnotations()
		delete(annotations, ownership.MarkSelf)
		after.SetAnnotations(annotations)
		after.SetResourceVersion(before.GetResourceVersion())
		after.SetManagedFields(before.GetManagedFields())
		g.Expect(after).To(Equal(before), "%v", key)
	}
	h.runPods(h.k8s.server, 100)
	g.Expect(h.podsThatRun()).To(Equal(pods), "nothing is restarted")
	before := h.k8s.server.version
	h.passOver("my-cluster")
	g.Expect(h.k8s.server.version).To(Equal(before))
	reported := func() (notes []string) {
		for _, e := range h.r.Events.(*world).events {
			if strings.HasPrefix(e, "NotDeleted") {
				notes = append(notes, e)
			}
		}
		return notes
	}
	kept := ContainSubstring("Secret my-cluster-brokers-9 is no longer needed, but is kept")
	g.Expect(reported()).To(ConsistOf(kept))

	h.r.Selects = func(map[string]string) bool { return false }
	h.passOver("my-cluster")
	h.r.Selects = nil
	h.passOver("my-cluster")
	g.Expect(reported()).To(ConsistOf(kept, kept), "nothing is remembered of a Kafka of another operator")
}

// podsThatRun returns the uids of all pods, by name.
func (h *history) podsThatRun() map[string]string {
	uids := map[string]string{}
	for key, o := range h.k8s.server.objects {
		if key.Kind == "Pod" {
			uids[key.Name] = string(o.GetUID())
		}
	}
	return uids
}
