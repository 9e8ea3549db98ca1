package controller

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/validate"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/randomtest"
)

// TestRandomInputs reconciles random valid Kafkas, edits them, and checks the objects that the operator makes. PROVE=full checks many.
func TestRandomInputs(t *testing.T) {
	m := newMaterial(t)
	proveHistories(t, "random Kafkas", 2, 2000, 4, func(t *testing.T, seed int64, edits int) {
		if found := newRig(t, m, seed).play(edits, nil); len(found) > 0 {
			t.Errorf("seed %d: %s", seed, strings.Join(found, "\n"))
		}
	})
}

// TestTheGeneratorSetsEveryField checks that each field of the API is set in some input, except for those that the operator rejects: no
// test would cover a field that no input sets.
func TestTheGeneratorSetsEveryField(t *testing.T) {
	const inputs = 400
	m := newMaterial(t)
	set, all := map[string]int{}, map[string]bool{}
	count := func(o any) {
		v := reflect.ValueOf(o)
		kind := v.Type().Elem().Name()
		leaves(v.Type().Elem(), fieldPath{kind}, func(p fieldPath) {
			all[p.String()] = true
			if slices.ContainsFunc(valuesAt(v, p[1:]), func(v reflect.Value) bool { return !v.IsZero() }) {
				set[p.String()]++
			}
		})
	}
	for seed := range int64(inputs) {
		g := &generator{material: m, rand: rand.New(rand.NewSource(seed))}
		in := g.next()
		count(in.kafka)
		for _, p := range in.pools {
			count(p)
		}
		if wrong := validate.Validate(validate.Input{Kafka: in.kafka, Pools: in.pools, Versions: []string{"4.2.0", "4.3.1"}, Version: "4.3.1",
			Exporter: true, Now: time.Unix(1_800_000_000, 0)}).Errors; len(wrong) > 0 {
			t.Errorf("seed %d: a valid input is refused: %v", seed, wrong)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		refused := slices.ContainsFunc(onlyRefused, func(name string) bool { return strings.Contains(path, name) })
		if (set[path] == 0) != refused {
			t.Errorf("%s is set in %d of %d inputs", path, set[path], inputs)
		}
	}
	t.Logf("%d of %d fields are set", len(set), len(all))
}

// pick returns the first object of a kind whose name ends with suffix.
func (s scene) pick(kind, suffix string) client.Object {
	for _, key := range s.made() {
		if key.Kind == kind && strings.HasSuffix(key.Name, suffix) {
			return s[key]
		}
	}
	return nil
}

// alter changes the first object of a kind whose name ends with suffix.
func alter[T client.Object](kind, suffix string, change func(o T)) tamper {
	return func(_ *rig, _, now scene) bool {
		o, ok := now.pick(kind, suffix).(T)
		if ok {
			change(o)
		}
		return ok
	}
}

// lose removes an object that existed before the edit.
func lose(kind, suffix string) tamper {
	return func(_ *rig, before, now scene) bool {
		o := before.pick(kind, suffix)
		if o != nil {
			delete(now, facts.Key{Kind: kind, Name: o.GetName()})
		}
		return o != nil
	}
}

// alterPod changes the first pod that a StrimziPodSet lists.
func alterPod(change func(pod *corev1.Pod)) tamper {
	return func(_ *rig, _, now scene) bool {
		for _, key := range now.made() {
			if set, ok := now[key].(*core.StrimziPodSet); ok && len(set.Spec.Pods) > 0 {
				pod := &corev1.Pod{}
				if json.Unmarshal(set.Spec.Pods[0].Raw, pod) != nil {
					return false
				}
				change(pod)
				set.Spec.Pods[0].Raw = []byte(jsonText(pod))
				return true
			}
		}
		return false
	}
}

// TestRandomInputsFindPlantedFaults checks that the rules find each planted fault, and that the finding is about that fault. Without
// PROVE=full, it plants every third one.
func TestRandomInputsFindPlantedFaults(t *testing.T) {
	m := newMaterial(t)
	config := func(from, to string) tamper {
		return alter("ConfigMap", "", func(o *corev1.ConfigMap) {
			o.Data["server.config"] = strings.ReplaceAll(o.Data["server.config"], from, to)
		})
	}
	headless := func(change func(*corev1.ServiceSpec)) tamper {
		return alter("Service", "-kafka-brokers", func(o *corev1.Service) { change(&o.Spec) })
	}
	faults := map[string]struct {
		plant tamper
		found string
	}{
		"a label's value is too long": {alter("Service", "", func(o *corev1.Service) { o.Labels["a"] = strings.Repeat("a", 64) }), "63"},
		"a port's name is too long":   {headless(func(s *corev1.ServiceSpec) { s.Ports[0].Name = strings.Repeat("a", 64) }), "63"},
		"a host's name is too long":   {alterPod(func(p *corev1.Pod) { p.Spec.Hostname = strings.Repeat("a", 64) }), "63"},
		"an annotation's key":         {alter("ServiceAccount", "", func(o *corev1.ServiceAccount) { o.Annotations["a b"] = "" }), "annotations"},
		"a Secret is missing": {func(_ *rig, _, now scene) bool {
			return lose("Secret", "-trustbundle")(nil, now, now)
		}, "Secret"},
		"a key is missing": {alter("Secret", "-trustbundle", func(o *corev1.Secret) { delete(o.Data, "clients-ca.crt") }),
			"has no clients-ca.crt"},
		"a port leads nowhere":    {headless(func(s *corev1.ServiceSpec) { s.Ports[0].TargetPort.StrVal = "other" }), "no pod has a port"},
		"a ServiceAccount":        {alterPod(func(p *corev1.Pod) { p.Spec.ServiceAccountName = "other" }), "ServiceAccount other does not exist"},
		"a volume is not mounted": {alterPod(func(p *corev1.Pod) { p.Spec.Volumes = p.Spec.Volumes[1:] }), "which does not exist"},
		"a selector": {alter("PodDisruptionBudget", "-kafka", func(o *policyv1.PodDisruptionBudget) {
			o.Spec.Selector.MatchLabels["a"] = "b"
		}), "selects no pod"},
		"a Role is missing":       {func(_ *rig, _, now scene) bool { return lose("Role", "-roller")(nil, now, now) }, "Role"},
		"a voter":                 {config("kafka-brokers.", "kafka-others."), "the Service of"},
		"a file":                  {config(":node.key", ":other.key"), "there is no file other.key"},
		"a log directory":         {config("/var/lib/kafka/", "/var/lib/other/"), "is on no volume"},
		"a secret in a ConfigMap": {alter("ConfigMap", "", func(o *corev1.ConfigMap) { o.Data["x"] = planted }), "has what is secret"},
		"a secret in an Event": {func(r *rig, _, now scene) bool {
			r.r.Events.Normal(nil, "Some", "", string(now.pick("Secret", "-cluster-ca").(*corev1.Secret).Data["ca.key"]))
			return true
		}, "a log or an Event has what is secret"},
		"a secret in a log": {func(r *rig, _, _ scene) bool {
			r.log.Info("Read", "secret", planted)
			return true
		}, "a log or an Event has what is secret"},
		"the cluster id": {func(r *rig, before, now scene) bool {
			if len(before) > 0 {
				now[facts.Key{Kind: "Kafka", Name: r.name}].(*v1.Kafka).Status.ClusterID = "other"
			}
			return len(before) > 0
		}, "the cluster id was"},
		"a node in another pool": {func(r *rig, before, now scene) bool {
			return len(before) > 0 && alterPod(func(p *corev1.Pod) {
				p.Name = r.name + "-other-" + p.Name[strings.LastIndex(p.Name, "-")+1:]
			})(r, before, now)
		}, "and is "},
		"a volume is lost": {lose("PersistentVolumeClaim", ""), "is gone"},
		"a volume is exchanged": {func(r *rig, before, now scene) bool {
			o := before.pick("PersistentVolumeClaim", "")
			if o == nil {
				return false
			}
			now[facts.Key{Kind: "PersistentVolumeClaim", Name: o.GetName()}].SetUID("other")
			return true
		}, "volume"},
		"an edit is ignored":   {alterPod(func(p *corev1.Pod) { p.Spec.Containers[0].Image = "old" }), "is not what the Kafka says"},
		"a Service is ignored": {headless(func(s *corev1.ServiceSpec) { s.PublishNotReadyAddresses = false }), "spec of Service"},
		"something is left": {func(_ *rig, _, now scene) bool {
			now[facts.Key{Kind: "ConfigMap", Name: "left"}] = &corev1.ConfigMap{}
			return true
		}, "ConfigMap left is not wanted"},
		"the status": {func(r *rig, _, now scene) bool {
			now[facts.Key{Kind: "Kafka", Name: r.name}].(*v1.Kafka).Status.ObservedGeneration--
			return true
		}, "the Kafka is not ready"},
		"rendering is random": {func(r *rig, _, _ scene) bool {
			r.skew = func(in *model.Input) { in.Settings.ExcludedLabels = func(string) bool { return r.rand.Intn(2) == 0 } }
			return true
		}, "rendered differently"},
		"a node remembers": {func(r *rig, _, _ scene) bool {
			r.forget = func(live map[string]model.Live) {
				for name, l := range live {
					l.RestartedAt = "once"
					live[name] = l
				}
			}
			return true
		}, "was taken away and set again"},
	}
	planted := 0
	t.Run("faults", func(t *testing.T) {
		for i, fault := range slices.Sorted(maps.Keys(faults)) {
			if os.Getenv("PROVE") != "full" && i%3 != 0 {
				continue
			}
			planted++
			t.Run(fault, func(t *testing.T) {
				t.Parallel()
				findPlanted(t, m, faults[fault].plant, faults[fault].found)
			})
		}
	})
	if !t.Failed() {
		fmt.Printf("PROOF {\"name\":\"planted faults of random Kafkas\",\"count\":%d,\"violations\":0,\"seed\":1}\n", planted)
	}
}

// findPlanted plays random inputs with a fault until it is found by the rule that is about it.
func findPlanted(t *testing.T, m material, plant tamper, rule string) {
	for seed := range int64(30) {
		found := newRig(t, m, seed+1).play(3, plant)
		if slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, rule) }) {
			return
		}
		if len(found) > 0 {
			t.Logf("seed %d: %q", seed+1, found[0])
		}
	}
	t.Error("not found")
}

// TestNamesThatAreAcceptedAreLegal checks that the operator derives only legal names from the names of users' objects, or rejects the Kafka
// and asks for a shorter name.
func TestNamesThatAreAcceptedAreLegal(t *testing.T) {
	m := newMaterial(t)
	accepted, refusedNames := 0, 0
	for seed := range int64(60) {
		r := newRig(t, m, seed)
		name := func() string { return "k" + strings.Repeat("x", r.rand.Intn(60)) }
		r.gen.kafka, r.gen.pools = name(), []string{name() + "-a", "b"}
		in := r.gen.next()
		r.name = in.kafka.Name
		r.place(in)
		r.passOver(r.name)
		found := sceneOf(r.k8s.server).illegal()
		ready := readyOf(r.kafka(r.name))
		switch tooLong := strings.Contains(ready.Message, "use a shorter name"); {
		case tooLong:
			refusedNames++
		case len(found) > 0:
			t.Errorf("seed %d: %s of names %q and %q: %s", seed, ready.Message, r.gen.kafka, r.gen.pools, found[0])
		default:
			accepted++
		}
	}
	if accepted < 5 || refusedNames < 5 {
		t.Errorf("%d are accepted, and %d refused", accepted, refusedNames)
	}
}

// TestAnAPIServerTakesRandomInputs checks that a real API server accepts random Kafkas and the objects that the operator makes for them,
// and that the last pass writes nothing: fields that the API server fills in are no differences. PROVE=full checks many.
func TestAnAPIServerTakesRandomInputs(t *testing.T) {
	count, first := int64(3), int64(randomtest.Seed(t)) // it fits
	if os.Getenv("PROVE") == "full" {
		count = 200
	}
	m := newMaterial(t)
	for seed := first; seed < first+count; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { takes(t, m, seed) })
	}
	if !t.Failed() {
		fmt.Printf("PROOF {\"name\":\"random Kafkas on an API server\",\"count\":%d,\"violations\":0,\"seed\":%d}\n", count, first)
	}
}

func takes(t *testing.T, m material, seed int64) {
	w := newWorld(t)
	w.now = time.Unix(1_800_000_000, 0) // the certificates of users are valid then
	settings := newRig(t, m, seed).r.Settings
	w.r.Settings, w.r.PKCS12 = settings, true
	g := &generator{material: m, rand: rand.New(rand.NewSource(seed))}
	g.names()
	g.kafka, g.pools = "my-cluster", g.pools[:min(2, len(g.pools))]
	for i := range g.pools {
		g.pools[i] = g.pools[i][:min(20, len(g.pools[i]))] + "z"
	}
	in := g.next()
	w.create(in.objects()...)
	services := &corev1.ServiceList{}
	for range 4 {
		w.reconcile()
		w.Expect(w.k8s.List(t.Context(), services, client.InNamespace(w.namespace))).To(Succeed())
		for i := range services.Items {
			if s := &services.Items[i]; s.Spec.Type == corev1.ServiceTypeLoadBalancer && len(s.Status.LoadBalancer.Ingress) == 0 {
				s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
				w.Expect(w.k8s.Status().Update(t.Context(), s)).To(Succeed())
			}
		}
	}
	before := w.versions()
	w.reconcile()
	w.Expect(w.versions()).To(Equal(before))
	w.Expect(w.ready()).To(HaveField("Reason", BeElementOf("Creating", "TopicOperatorNotReady")))
	for i := range services.Items { // all tests share the node ports of the API server
		s := &services.Items[i]
		s.Finalizers = nil
		w.Expect(client.IgnoreNotFound(w.k8s.Update(t.Context(), s))).To(Succeed())
		w.Expect(client.IgnoreNotFound(w.k8s.Delete(t.Context(), s))).To(Succeed())
	}
}

// rig runs the reconciler on random inputs with an API server in memory.
type rig struct {
	*history
	gen  *generator
	logs *strings.Builder
	log  logr.Logger
	// skew plants a fault: it changes an input that must be rendered as before.
	skew func(*model.Input)
	// forget plants a fault: it changes the state that is known of existing nodes.
	forget func(map[string]model.Live)
}

func newRig(t testing.TB, m material, seed int64) *rig {
	r := &rig{history: newHistory(t, seed), gen: &generator{material: m, rand: rand.New(rand.NewSource(seed))}, logs: &strings.Builder{}}
	r.log = funcr.New(func(prefix, args string) { fmt.Fprintln(r.logs, prefix, args) }, funcr.Options{Verbosity: 9})
	s := &r.r.Settings
	s.KafkaImages, s.ExporterImage = map[string]string{"4.2.0": "kafka:4.2.0", "4.3.1": "kafka:4.3.1"}, "cluster-operator:1"
	s.OperatorNamespace, s.OperatorNamespaceLabels = "operators", map[string]string{"kubernetes.io/metadata.name": "operators"}
	r.r.PKCS12 = true
	return r
}

// place creates or updates the users' objects of an input, and deletes other KafkaNodePools.
func (r *rig) place(in input) {
	r.t.Helper()
	wanted := map[facts.Key]bool{}
	for _, o := range in.objects() {
		o.SetNamespace(historyNamespace)
		key := r.k8s.server.keyOf(o)
		wanted[key] = true
		live := r.k8s.server.objects[key]
		if live == nil {
			r.must(r.k8s.Create(r.t.Context(), o))
			continue
		}
		o.SetResourceVersion(live.GetResourceVersion())
		r.must(r.k8s.Update(r.t.Context(), o))
	}
	for _, key := range sortedKeys(r.k8s.server.objects) {
		if key.Kind == "KafkaNodePool" && !wanted[key] {
			r.must(r.k8s.Delete(r.t.Context(), copied(r.object(key))))
		}
	}
}

// made reconciles an input until nothing changes, and returns one more pass.
func (r *rig) made(in input) (*pass, error) {
	r.t.Helper()
	r.place(in)
	if r.rand.Intn(2) == 0 { // brokers hold replicas for a while
		r.moveReplicas()
		ctx := log.IntoContext(r.t.Context(), r.log)
		_, _ = r.r.Reconcile(ctx, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: historyNamespace, Name: in.kafka.Name}})
		r.runPods(r.k8s.server, 50)
	}
	for last := int64(-1); last != r.k8s.server.version; { // claims get volumes, and grow with them
		last = r.k8s.server.version
		r.comeUpAs(in.kafka.Name)
		r.bindClaims()
	}
	p := &pass{Reconciler: r.r, kafka: r.kafka(in.kafka.Name).DeepCopy(), log: r.log}
	return p, p.run(log.IntoContext(r.t.Context(), r.log))
}

// bindClaims binds the PersistentVolumeClaims that are not bound yet.
func (r *rig) bindClaims() {
	for _, key := range sortedKeys(r.k8s.server.objects) {
		if claim, ok := r.object(key).(*corev1.PersistentVolumeClaim); ok && claim.Status.Phase == "" {
			claim = claim.DeepCopy()
			claim.Status.Phase = corev1.ClaimBound
			r.must(r.k8s.Status().Update(r.t.Context(), claim))
		}
	}
}

// tamper changes the objects before they are judged, and reports whether it could.
type tamper func(r *rig, before, now scene) bool

// play reconciles an input and edits of it, and returns what is wrong.
func (r *rig) play(edits int, plant tamper) findings {
	r.t.Helper()
	defer r.report()
	in := r.gen.next()
	r.name = in.kafka.Name
	before := scene{}
	for r.step = range 1 + edits {
		if r.step > 0 {
			in = r.edited(in)
		}
		p, refused := r.made(in)
		now := sceneOf(r.k8s.server)
		if plant != nil && !plant(r, before, now) {
			before = now
			continue
		}
		found := slices.Concat(now.illegal(), now.leaks(r.logs.String(), strings.Join(r.r.Events.(*world).events, "\n")), r.identity(before, now))
		kept := len(p.input.Endpoints.Keep) > 0 // nodes stay as they are until an address is known, and what leads to them changes first
		if !kept && len(p.input.Endpoints.Waiting) == 0 {
			found = append(found, now.dangling()...)
		}
		if refused != nil {
			found = append(found, r.refused(in, before, now, refused)...)
		} else {
			found = append(found, r.applied(p, in, before, now)...)
		}
		if refused == nil && !kept {
			found = append(found, slices.Concat(r.deterministic(p), r.thereAndBack(p))...)
		}
		if len(found) > 0 {
			return found
		}
		before = now
	}
	return nil
}

// edited returns another input, or a copy of in with one field of another input.
func (r *rig) edited(in input) input {
	next := r.gen.next()
	if r.rand.Intn(3) == 0 {
		return next
	}
	edited := input{in.kafka.DeepCopy(), nil, in.given}
	for _, p := range in.pools {
		edited.pools = append(edited.pools, p.DeepCopy())
	}
	from, to := reflect.ValueOf(next.kafka), reflect.ValueOf(edited.kafka)
	if r.rand.Intn(2) == 0 {
		i := r.rand.Intn(len(in.pools))
		from, to = reflect.ValueOf(next.pools[i]), reflect.ValueOf(edited.pools[i])
	}
	var paths []fieldPath
	leaves(to.Type().Elem(), fieldPath{to.Type().Elem().Name()}, func(p fieldPath) { paths = append(paths, p[1:]) })
	for range 100 {
		p := paths[r.rand.Intn(len(paths))]
		p = p[:min(len(p), 2+r.rand.Intn(3))]
		old, wanted := valuesAt(to, p), valuesAt(from, p)
		if len(old) > 0 && len(wanted) > 0 && !equality.Semantic.DeepEqual(old[0].Interface(), wanted[0].Interface()) {
			old[0].Set(wanted[0])
			r.told = append(r.told, p.String())
			return edited
		}
	}
	return next
}

// valuesAt returns the values of a field in all elements of the lists on its path. It skips nil pointers on the path.
func valuesAt(v reflect.Value, p fieldPath) []reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		if len(p) == 0 {
			return []reflect.Value{v}
		}
		if v.IsNil() {
			return nil
		}
		return valuesAt(v.Elem(), p)
	case reflect.Slice:
		if len(p) == 0 {
			return []reflect.Value{v}
		}
		var all []reflect.Value
		for i := range v.Len() {
			all = append(all, valuesAt(v.Index(i), p)...)
		}
		return all
	}
	if len(p) == 0 {
		return []reflect.Value{v}
	}
	return valuesAt(v.FieldByName(p[0]), p[1:])
}

// rendered returns all objects of an input as text, and the state of the nodes once they are applied.
func rendered(in model.Input, live map[string]model.Live) (string, map[string]model.Live, error) {
	result, err := model.Render(in, live)
	if err != nil {
		return "", nil, err
	}
	var text strings.Builder
	for _, s := range model.Services(in) {
		fmt.Fprintln(&text, jsonText(s))
	}
	for _, i := range model.Ingresses(in) {
		fmt.Fprintln(&text, jsonText(i))
	}
	for _, o := range slices.Concat(result.Objects, result.PodSets, model.TopicOperator(in)) {
		fmt.Fprintln(&text, jsonText(o))
	}
	next := map[string]model.Live{}
	for _, m := range result.Manifests {
		name := in.Topology.PodName(m.Node)
		next[name] = model.Live{Pod: m.Pod, Config: m.Config, Content: m.Content, RestartedAt: live[name].RestartedAt}
	}
	return text.String(), next, nil
}

// deterministic checks that copies of an input, with the pools in another order, are rendered to the same objects.
func (r *rig) deterministic(p *pass) (f findings) {
	in := p.at(p.home())
	first, _, err := rendered(in, p.live())
	if err != nil {
		f.add("%v", err)
		return f
	}
	for range 3 {
		again := in
		again.Kafka, again.Pools = in.Kafka.DeepCopy(), map[string]*v1.KafkaNodePool{}
		names := slices.Collect(maps.Keys(in.Pools))
		r.rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			again.Pools[name] = in.Pools[name].DeepCopy()
		}
		if r.skew != nil {
			r.skew(&again)
		}
		if text, _, err := rendered(again, p.live()); err != nil || text != first {
			f.add("the same input is rendered differently: %s", firstDifference(first, text))
		}
	}
	return f
}

func firstDifference(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	around := func(s string) string { return s[max(0, min(i, len(s))-80):min(len(s), i+80)] }
	return fmt.Sprintf("...%q and ...%q", around(a), around(b))
}

// thereAndBack removes fields, one at a time, and sets them again, and checks that the rendered objects are then as before.
func (r *rig) thereAndBack(p *pass) (f findings) {
	in := p.at(p.home())
	first, live, err := rendered(in, p.live())
	if err != nil {
		return nil // deterministic reports the error
	}
	for range 5 {
		without := in
		without.Kafka, without.Pools = in.Kafka.DeepCopy(), map[string]*v1.KafkaNodePool{}
		from := []reflect.Value{reflect.ValueOf(without.Kafka)}
		for _, name := range slices.Sorted(maps.Keys(in.Pools)) {
			without.Pools[name] = in.Pools[name].DeepCopy()
			from = append(from, reflect.ValueOf(without.Pools[name]))
		}
		o := from[r.rand.Intn(len(from))]
		var paths []fieldPath
		leaves(o.Type().Elem(), fieldPath{o.Type().Elem().Name()}, func(p fieldPath) {
			if slices.ContainsFunc(valuesAt(o, p[1:]), func(v reflect.Value) bool { return !v.IsZero() }) {
				paths = append(paths, p[1:])
			}
		})
		path := paths[r.rand.Intn(len(paths))]
		for _, v := range valuesAt(o, path) {
			v.SetZero()
		}
		if len(r.validated(p, without.Kafka, slices.Collect(maps.Values(without.Pools))).Errors) > 0 {
			continue
		}
		_, changed, err := rendered(without, live)
		if err != nil {
			f.add("without %s: %v", path, err)
			continue
		}
		if r.forget != nil {
			r.forget(changed)
		}
		if back, _, err := rendered(in, changed); err != nil || back != first {
			f.add("after %s was taken away and set again: %v, %s", path, err, firstDifference(first, back))
		}
	}
	return f
}

// validated returns the result of the validation of a Kafka and its pools.
func (r *rig) validated(p *pass, kafka *v1.Kafka, pools []*v1.KafkaNodePool) validate.Result {
	return validate.Validate(validate.Input{Kafka: kafka, Pools: pools, Versions: []string{"4.2.0", "4.3.1"}, Version: p.input.Version,
		Exporter: true, Now: r.now})
}

// nodesIn returns the pods that StrimziPodSets list, by the ids of their nodes.
func (s scene) nodesIn() map[int32]*corev1.Pod {
	nodes := map[int32]*corev1.Pod{}
	for _, pod := range s.pods() {
		if id, ok := core.NodeID(pod.Name); ok && pod.Labels[core.LabelController] == core.ControllerPodSet {
			nodes[id] = pod
		}
	}
	return nodes
}

// identity checks that the id of the Kafka cluster, the ids of nodes, and their volumes did not change.
func (r *rig) identity(before, now scene) (f findings) {
	key := facts.Key{Kind: "Kafka", Name: r.gen.kafka}
	if was, ok := before[key].(*v1.Kafka); ok && was.Status.ClusterID != now[key].(*v1.Kafka).Status.ClusterID {
		f.add("the cluster id was %s and is %s", was.Status.ClusterID, now[key].(*v1.Kafka).Status.ClusterID)
	}
	nodes := now.nodesIn()
	for id, was := range before.nodesIn() {
		pod := nodes[id]
		switch {
		case pod == nil: // the node left, which the history judges
		case pod.Name != was.Name:
			f.add("node %d was %s and is %s", id, was.Name, pod.Name)
		}
	}
	for key, o := range before {
		was, ok := o.(*corev1.PersistentVolumeClaim)
		if !ok {
			continue
		}
		claim, _ := now[key].(*corev1.PersistentVolumeClaim)
		switch {
		case claim == nil && was.Annotations[v1.AnnotationDeleteClaim] != "true" && !r.wantsGone(was, now):
			f.add("volume %s is gone", key.Name)
		case claim == nil:
			for _, pod := range nodes {
				if mounts(pod, key.Name) {
					f.add("volume %s of pod %s is gone", key.Name, pod.Name)
				}
			}
		case claim.UID != was.UID || !equality.Semantic.DeepEqual(fixedOf(claim), fixedOf(was)):
			f.add("volume %s was %+v and is %+v", key.Name, fixedOf(was), fixedOf(claim))
		}
	}
	return f
}

// wantsGone reports whether the edit that removed the node of a volume asked for its deletion, too.
func (r *rig) wantsGone(claim *corev1.PersistentVolumeClaim, now scene) bool {
	name := claim.Labels[core.LabelPoolName]
	pool, found := now[facts.Key{Kind: "KafkaNodePool", Name: name}].(*v1.KafkaNodePool)
	if !found {
		return false
	}
	kept := pool.Spec.Storage.DeepCopy()
	kept.DeleteClaim = nil
	for i := range kept.Volumes {
		kept.Volumes[i].DeleteClaim = nil
	}
	prefix := r.gen.kafka + "-" + name
	return model.KeepsClaim(*kept, claim.Name, prefix) && !model.KeepsClaim(pool.Spec.Storage, claim.Name, prefix)
}

// fixedOf returns the parts of a PersistentVolumeClaim that must not change.
func fixedOf(claim *corev1.PersistentVolumeClaim) any {
	return []any{claim.Spec.AccessModes, claim.Spec.StorageClassName, claim.Spec.Selector, claim.Annotations[model.AnnotationClusterID]}
}

// blocked reports whether a condition says why a pool does not match its specification.
func blocked(kafka *v1.Kafka, pool string) bool {
	return slices.ContainsFunc(kafka.Status.Conditions, func(c v1.Condition) bool {
		return slices.Contains([]string{"ScaleDownPreventionCheck", "ScaleUpPrevented", "KafkaStorage"}, c.Reason) &&
			strings.Contains(c.Message, pool)
	})
}

// applied checks that all objects are as a newly started operator would make them, and that a condition names each pool that does not match
// its specification.
func (r *rig) applied(p *pass, in input, before, now scene) (f findings) {
	kafka := now[facts.Key{Kind: "Kafka", Name: in.kafka.Name}].(*v1.Kafka)
	ready, waits := readyOf(kafka), false
	for _, pool := range in.pools {
		at := slices.IndexFunc(p.input.Topology.Pools, func(t topology.Pool) bool { return t.Name == pool.Name })
		stays, others := 0, false
		for _, n := range p.input.Topology.Pools[at].Nodes {
			others = others || n.Roles != rolesOf(pool.Spec.Roles)
			if !n.Leaving {
				stays++
			}
		}
		if stays != int(pool.Spec.Replicas) || others || !equality.Semantic.DeepEqual(p.input.Pools[pool.Name].Spec, pool.Spec) {
			waits = true
			if !blocked(kafka, pool.Name) {
				f.add("KafkaNodePool %s is not as its user wants it, and no condition says so: %+v", pool.Name, kafka.Status.Conditions)
			}
		}
	}
	if ready == nil || kafka.Status.ObservedGeneration != kafka.Generation || ready.Status != v1.ConditionTrue && !waits {
		f.add("the Kafka is not ready: %+v", ready)
	}
	if len(p.input.Endpoints.Keep) > 0 {
		return f
	}
	fresh, err := model.Render(p.at(p.home()), nil)
	if err != nil {
		f.add("%v", err)
		return f
	}
	stored := now.nodesIn()
	for _, m := range fresh.Manifests {
		if p.pools[m.Node.Pool] == nil {
			continue // the pool was removed, and its nodes stay as they are
		}
		pod := &corev1.Pod{}
		r.must(json.Unmarshal(m.Pod, pod))
		live := stored[m.Node.ID].DeepCopy()
		delete(live.Annotations, model.AnnotationRestartedAt)
		delete(live.Annotations, core.AnnotationRevision)
		delete(live.Annotations, model.AnnotationInputs)
		delete(pod.Annotations, core.AnnotationRevision)
		delete(pod.Annotations, model.AnnotationInputs)
		if !equality.Semantic.DeepEqual(pod, live) {
			f.add("pod %s is not what the Kafka says: %s", pod.Name, firstDifference(jsonText(pod), jsonText(live)))
		}
	}
	return append(f, r.contains(p, fresh, before, now)...)
}

// contains checks that all other objects are as rendered, and that there are no further ones.
func (r *rig) contains(p *pass, fresh model.Result, before, now scene) (f findings) {
	in, wanted := p.at(p.home()), map[facts.Key]bool{}
	objects := slices.Concat(fresh.Objects, model.TopicOperator(in))
	for _, s := range model.Services(in) {
		objects = append(objects, s)
	}
	for _, i := range model.Ingresses(in) {
		objects = append(objects, i)
	}
	for _, o := range objects {
		key := facts.KeyOf(o)
		wanted[key] = true
		live := now[key]
		if live == nil {
			f.add("%s %s is not made", key.Kind, key.Name)
		}
		if live == nil || live.GetDeletionTimestamp() != nil { // the operator makes it again after the deletion
			continue
		}
		if !maps.Equal(o.GetLabels(), live.GetLabels()) {
			f.add("%s %s has the labels %v, not %v", key.Kind, key.Name, live.GetLabels(), o.GetLabels())
		}
		a, b := content(o), content(live)
		switch key.Kind {
		case "Service":
			a, b = keyed(a), keyed(b)
			withoutNodePorts(a, b)
			if was, is := before[key].(*corev1.Service); is && was.Spec.Type == corev1.ServiceTypeLoadBalancer {
				unstructured.RemoveNestedField(a, "spec", "loadBalancerClass") // which can't be changed
				unstructured.RemoveNestedField(b, "spec", "loadBalancerClass")
			}
		case "PersistentVolumeClaim":
			if id, ok := core.NodeID(key.Name); !ok || before[key] != nil && before.nodesIn()[id] == nil {
				continue // the claim is older than its node, which finds its data there
			}
			if before[key] != nil { // identity compares the fixed parts, and larger claims stay larger
				a, b = withoutFixed(a), withoutFixed(b)
			}
			if o, is := o.(*corev1.PersistentVolumeClaim); is && o.Spec.Resources.Requests.Storage().Cmp(
				*live.(*corev1.PersistentVolumeClaim).Spec.Resources.Requests.Storage()) < 0 {
				unstructured.RemoveNestedField(a, "spec", "resources")
				unstructured.RemoveNestedField(b, "spec", "resources")
			}
		}
		for _, part := range []string{"spec", "data", "rules", "roleRef", "subjects"} {
			if !equality.Semantic.DeepEqual(a[part], b[part]) {
				f.add("%s of %s %s: %s", part, key.Kind, key.Name, firstDifference(jsonText(a[part]), jsonText(b[part])))
			}
		}
	}
	for _, key := range now.made() {
		switch key.Kind {
		case "Secret", "StrimziPodSet", "PersistentVolumeClaim":
			continue // certificates; compared by applied; kept
		}
		recorded := key.Name == model.TopicOperatorRecordName(r.name) && model.WantsTopicOperator(p.kafka)
		if !wanted[key] && key.Name != core.RollerStatusName(r.name) && !recorded {
			f.add("%s %s is not wanted", key.Kind, key.Name)
		}
	}
	return f
}

// withoutNodePorts removes the node ports that the API server chose from a live Service.
func withoutNodePorts(wanted, live map[string]any) {
	ports := func(o map[string]any) map[string]any {
		spec, _ := o["spec"].(map[string]any)
		list, _ := spec["ports"].(map[string]any)
		return list
	}
	for number, port := range ports(live) {
		if p, _ := ports(wanted)[number].(map[string]any); p["nodePort"] == nil {
			delete(port.(map[string]any), "nodePort")
		}
	}
}

// withoutFixed removes the parts of the specification that no PersistentVolumeClaim can change.
func withoutFixed(claim map[string]any) map[string]any {
	for _, name := range []string{"storageClassName", "selector"} {
		unstructured.RemoveNestedField(claim, "spec", name)
	}
	return claim
}

// refused checks that the condition Ready says why an input is rejected, and that no node changed except for its certificates.
func (r *rig) refused(in input, before, now scene, err error) (f findings) {
	kafka := now[facts.Key{Kind: "Kafka", Name: in.kafka.Name}].(*v1.Kafka)
	ready := readyOf(kafka)
	if ready == nil || ready.Status != v1.ConditionFalse || ready.Message == "" || kafka.Status.ObservedGeneration != kafka.Generation {
		f.add("it is refused (%v), and the status does not say so: %+v", err, ready)
	}
	if len(before) == 0 {
		f.add("a valid input is refused: %v", err)
	}
	nodes := now.nodesIn()
	for id, was := range before.nodesIn() {
		if pod := nodes[id]; pod == nil || !equality.Semantic.DeepEqual(withoutCertificates(*was), withoutCertificates(*pod)) {
			f.add("it is refused (%v), and node %d is changed", err, id)
		}
	}
	return f
}
