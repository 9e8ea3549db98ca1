package controller

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
)

// apiServer has the features of an API server that histories need, with the objects of one namespace in memory: uids, resourceVersions,
// preconditions, finalizers, the subresource status, server-side apply with the fields of each manager, and the garbage collector.
// client-go's fake has no uids and no garbage collector, and is too slow for long histories.
type apiServer struct {
	id      string
	scheme  *runtime.Scheme
	version int64
	objects objects
	// lax plants a fault: the API server ignores preconditions.
	lax bool
	// closed is the answer to each create; nil if they succeed. The namespace is being deleted, or gone.
	closed error
	// written is called after each change with the object before and after it; nil where there is none.
	written func(key facts.Key, before, after client.Object)
}

// objects are the objects of a server. They are replaced and never changed, so that a clone of the map is a snapshot.
type objects map[facts.Key]*stored

type stored struct {
	client.Object
	// applied are the fields of each manager that applied some.
	applied map[string]map[string]any
}

func newAPIServer(id string, scheme *runtime.Scheme) *apiServer {
	return &apiServer{id: id, scheme: scheme, objects: objects{}, written: func(facts.Key, client.Object, client.Object) {}}
}

func (s *apiServer) key(o runtime.Object, name string) (facts.Key, schema.GroupVersionKind, error) {
	gvk, err := apiutil.GVKForObject(o, s.scheme)
	return facts.Key{Kind: gvk.Kind, Name: name}, gvk, err
}

// keyOf returns the key of an object or an apply configuration.
func (s *apiServer) keyOf(o any) facts.Key {
	if object, ok := o.(client.Object); ok {
		key, _, _ := s.key(object, object.GetName())
		return key
	}
	applied, _ := o.(interface {
		GetKind() string
		GetName() string
	})
	return facts.Key{Kind: applied.GetKind(), Name: applied.GetName()}
}

func resourceOf(key facts.Key) schema.GroupResource { return schema.GroupResource{Resource: key.Kind} }

func conflict(key facts.Key, format string, args ...any) error {
	return apierrors.NewConflict(resourceOf(key), key.Name, fmt.Errorf(format, args...))
}

// put stores an object with the next resourceVersion.
func (s *apiServer) put(key facts.Key, o client.Object, applied map[string]map[string]any) {
	before := s.objects[key]
	s.version++
	o.SetResourceVersion(strconv.FormatInt(s.version, 10))
	o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	if before == nil {
		o.SetUID(types.UID(fmt.Sprintf("%s-%d", s.id, s.version)))
		o.SetDeletionTimestamp(nil)
	}
	s.allocate(o, before.object())
	var entries []metav1.ManagedFieldsEntry
	for _, manager := range slices.Sorted(maps.Keys(applied)) {
		entries = append(entries, metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply})
	}
	o.SetManagedFields(entries)
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
		s.remove(key)
		return
	}
	s.objects[key] = &stored{o, applied}
	s.written(key, before.object(), o)
}

func (s *stored) object() client.Object {
	if s == nil {
		return nil
	}
	return s.Object
}

func (s *apiServer) remove(key facts.Key) {
	before := s.objects[key]
	delete(s.objects, key)
	s.version++
	s.written(key, before.object(), nil)
}

// collect is Kubernetes' garbage collector: it deletes objects with owners of which none exists.
func (s *apiServer) collect() {
	for again := true; again; {
		again = false
		uids := map[types.UID]bool{}
		for _, o := range s.objects {
			uids[o.GetUID()] = true
		}
		for _, key := range sortedKeys(s.objects) {
			o := s.objects[key]
			refs := o.GetOwnerReferences()
			if len(refs) == 0 || slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool { return uids[r.UID] }) ||
				o.GetDeletionTimestamp() != nil {
				continue
			}
			s.terminate(key)
			again = true
		}
	}
}

func sortedKeys[T any](m map[facts.Key]T) []facts.Key {
	return slices.SortedFunc(maps.Keys(m),
		func(a, b facts.Key) int { return slices.Compare([]string{a.Kind, a.Name}, []string{b.Kind, b.Name}) })
}

func (s *apiServer) terminate(key facts.Key) {
	o := s.objects[key]
	if len(o.GetFinalizers()) == 0 {
		s.remove(key)
		return
	}
	if o.GetDeletionTimestamp() == nil {
		next := copied(o.Object)
		next.SetDeletionTimestamp(new(metav1.Unix(1_800_000_000, 0)))
		s.put(key, next, o.applied)
	}
}

func copied(o client.Object) client.Object { return o.DeepCopyObject().(client.Object) }

func content(o runtime.Object) map[string]any {
	if u, ok := o.(*unstructured.Unstructured); ok {
		return u.DeepCopy().Object
	}
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		panic(err)
	}
	return m
}

// typed returns an object of the scheme's type.
func (s *apiServer) typed(gvk schema.GroupVersionKind, content map[string]any) (client.Object, error) {
	o, err := s.scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, o); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return o.(client.Object), nil
}

// replace stores an object if it differs. With status it changes only the status, otherwise all but the status.
func (s *apiServer) replace(key facts.Key, gvk schema.GroupVersionKind, next map[string]any, status bool, manager string,
	mine map[string]any) (client.Object, error) {
	before := s.objects[key]
	was := content(before.Object)
	told := was["status"]
	if status {
		told, next = next["status"], content(before.Object)
	}
	delete(next, "status")
	if told != nil {
		next["status"] = told
	}
	now, then := next["metadata"].(map[string]any), was["metadata"].(map[string]any)
	for _, field := range []string{"uid", "resourceVersion", "generation", "deletionTimestamp", "creationTimestamp", "managedFields"} {
		delete(now, field)
		if value, has := then[field]; has {
			now[field] = value
		}
	}
	o, err := s.typed(gvk, next)
	if err != nil {
		return nil, err
	}
	if err := s.refuse(key, gvk, o); err != nil {
		return nil, err
	}
	next = content(o)
	applied := map[string]map[string]any{}
	for other, fields := range before.applied {
		if other == manager {
			continue
		}
		if fields = unchanged(fields, keyed(was), keyed(next)); len(fields) > 0 {
			applied[other] = fields
		}
	}
	if mine != nil {
		applied[manager] = mine
	} else if fields := before.applied[manager]; fields != nil {
		applied[manager] = fields
	}
	if equality.Semantic.DeepEqual(was, next) && reflect.DeepEqual(applied, before.applied) {
		return before.Object, nil
	}
	if !equality.Semantic.DeepEqual(was["spec"], next["spec"]) {
		o.SetGeneration(o.GetGeneration() + 1)
	}
	s.put(key, o, applied)
	return o, nil
}

// create stores a new object.
func (s *apiServer) create(key facts.Key, gvk schema.GroupVersionKind, fields map[string]any,
	applied map[string]map[string]any) (client.Object, error) {
	if s.objects[key] != nil {
		return nil, apierrors.NewAlreadyExists(resourceOf(key), key.Name)
	}
	if s.closed != nil {
		return nil, s.closed
	}
	delete(fields, "status")
	o, err := s.typed(gvk, fields)
	if err != nil {
		return nil, err
	}
	if err := s.refuse(key, gvk, o); err != nil {
		return nil, err
	}
	o.SetGeneration(1)
	s.put(key, o, applied)
	return o, nil
}

// judge rejects a write with another uid or resourceVersion than the object has.
func (s *apiServer) judge(o *stored, key facts.Key, uid types.UID, version string) error {
	switch {
	case o == nil:
		return apierrors.NewNotFound(resourceOf(key), key.Name)
	case s.lax:
	case uid != "" && uid != o.GetUID():
		return conflict(key, "the uid is %s, not %s", o.GetUID(), uid)
	case version != "" && version != o.GetResourceVersion():
		return conflict(key, "the resourceVersion is %s, not %s", o.GetResourceVersion(), version)
	}
	return nil
}

// keyed turns owner references and ports of Services into maps, with the merge keys of server-side apply. It does not change other lists.
func keyed(fields map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range fields {
		switch v := value.(type) {
		case map[string]any:
			out[key] = keyed(v)
		case []any:
			by := map[string]string{"ownerReferences": "uid", "ports": "port"}[key]
			m := map[string]any{}
			for _, element := range v {
				if e, ok := element.(map[string]any); ok && by != "" && e[by] != nil {
					m[fmt.Sprint(e[by])] = e
				}
			}
			out[key] = value
			if by != "" && len(m) == len(v) {
				out[key] = m
			}
		default:
			out[key] = value
		}
	}
	return out
}

// listed is the reverse of keyed.
func listed(fields map[string]any) map[string]any {
	for key, value := range fields {
		m, ok := value.(map[string]any)
		switch {
		case !ok:
		case key == "ownerReferences" || key == "ports":
			list := []any{}
			for _, name := range slices.Sorted(maps.Keys(m)) {
				if e, _ := m[name].(map[string]any); key == "ports" && e["port"] == nil {
					continue // it has only fields that the API server chose
				}
				list = append(list, m[name])
			}
			fields[key] = list
		default:
			fields[key] = listed(m)
		}
	}
	return fields
}

// unchanged returns those fields that a write did not change.
func unchanged(fields, before, after map[string]any) map[string]any {
	kept := map[string]any{}
	for key, value := range fields {
		m, isMap := value.(map[string]any)
		b, _ := before[key].(map[string]any)
		a, _ := after[key].(map[string]any)
		if isMap && a != nil {
			if rest := unchanged(m, b, a); len(rest) > 0 {
				kept[key] = rest
			}
		} else if !isMap && equality.Semantic.DeepEqual(before[key], after[key]) {
			kept[key] = value
		}
	}
	return kept
}

// withdraw removes the fields that a manager applied before and does not apply now, unless another manager applied them too.
func withdraw(live, before, now map[string]any, others []map[string]any) {
	for key, value := range before {
		var rest []map[string]any
		held := false
		for _, other := range others {
			if o, has := other[key]; has {
				held = true
				if m, ok := o.(map[string]any); ok {
					rest = append(rest, m)
				}
			}
		}
		was, isMap := value.(map[string]any)
		l, liveMap := live[key].(map[string]any)
		n, has := now[key]
		if isMap && liveMap {
			next, _ := n.(map[string]any)
			withdraw(l, was, next, rest)
			if !has && !held && len(l) == 0 {
				delete(live, key)
			}
		} else if !has && !held {
			delete(live, key)
		}
	}
}

func merge(live, fields map[string]any) {
	for key, value := range fields {
		m, isMap := value.(map[string]any)
		l, liveMap := live[key].(map[string]any)
		switch {
		case isMap && liveMap:
			merge(l, m)
		case isMap:
			live[key] = runtime.DeepCopyJSON(m)
		default:
			live[key] = runtime.DeepCopyJSONValue(value)
		}
	}
}

// apply is server-side apply.
func (s *apiServer) apply(u *unstructured.Unstructured, manager string, force bool) (client.Object, error) {
	gvk := u.GroupVersionKind()
	key := facts.Key{Kind: gvk.Kind, Name: u.GetName()}
	uid, version := u.GetUID(), u.GetResourceVersion()
	fields := u.DeepCopy().Object
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"} {
		unstructured.RemoveNestedField(fields, "metadata", field)
	}
	delete(fields, "apiVersion")
	delete(fields, "kind")
	before := s.objects[key]
	mine := keyed(fields)
	if before == nil {
		if uid != "" {
			return nil, conflict(key, "there is none of uid %s", uid)
		}
		return s.create(key, gvk, fields, map[string]map[string]any{manager: mine})
	}
	if err := s.judge(before, key, uid, version); err != nil {
		return nil, err
	}
	if !force && !s.lax {
		return nil, errors.New("what is applied without force is applied where nothing is, in these histories")
	}
	var others []map[string]any
	for other, theirs := range before.applied {
		if other != manager {
			others = append(others, theirs)
		}
	}
	live := keyed(content(before.Object))
	withdraw(live, before.applied[manager], mine, others)
	merge(live, mine)
	return s.replace(key, gvk, listed(live), false, manager, mine)
}

// mergePatch is RFC 7386.
func mergePatch(live, patch map[string]any) {
	for key, value := range patch {
		m, isMap := value.(map[string]any)
		l, liveMap := live[key].(map[string]any)
		switch {
		case value == nil:
			delete(live, key)
		case isMap && liveMap:
			mergePatch(l, m)
		case isMap:
			live[key] = map[string]any{}
			mergePatch(live[key].(map[string]any), m)
		default:
			live[key] = value
		}
	}
}
