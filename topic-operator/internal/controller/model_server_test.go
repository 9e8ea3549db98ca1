package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// modelServer is the part of an API server that matters to KafkaTopics. Stored objects are immutable: each write stores a new one, so that
// caches can share them.
type modelServer struct {
	objects map[types.NamespacedName]*v1.KafkaTopic
	// last is the last state of each object that ever existed, by uid.
	last map[types.UID]*v1.KafkaTopic
	// statuses are the statuses as stored, by uid: a client can't distinguish an empty field from a missing one, but the server does.
	statuses map[types.UID]modelDocument
	// untold are the objects whose status is the default and is not stored. Any write stores it, and makes a new version.
	untold map[types.UID]bool
	// log are the events of a watch, in order.
	log     []modelEvent
	version int
	uids    int
	now     func() time.Time
	// prunes reports whether the applied CustomResourceDefinition lacks status.clusterId and spec.managed. hidden are the objects as
	// stored, until somebody writes to them: a read hides the dropped fields, and a write loses them.
	prunes bool
	// gullible makes each test of a JSON patch succeed.
	gullible bool
	hidden   map[types.UID]modelHidden
}

// modelHidden is an object as stored, with the fields that the CustomResourceDefinition hides.
type modelHidden struct {
	object *v1.KafkaTopic
	status modelDocument
}

// swap applies another CustomResourceDefinition. Watches end and start again, and show different objects with the same version.
func (s *modelServer) swap(prunes bool) {
	if s.prunes == prunes {
		return
	}
	s.prunes = prunes
	for _, key := range modelKeys {
		before := s.objects[key]
		if before == nil {
			continue
		}
		after, status := s.pruned(before), s.prunedStatus(s.statuses[before.UID])
		if prunes {
			s.hidden[before.UID] = modelHidden{object: before, status: s.statuses[before.UID]}
		} else if was, ok := s.hidden[before.UID]; ok {
			after, status = was.object, was.status
		}
		s.objects[key], s.last[after.UID], s.statuses[after.UID] = after, after, status
		s.log = append(s.log, modelEvent{key: key, before: before, after: after})
	}
	if !prunes {
		clear(s.hidden)
	}
}

// pruned returns the object as a client reads it.
func (s *modelServer) pruned(kt *v1.KafkaTopic) *v1.KafkaTopic {
	if !s.prunes {
		return kt
	}
	after := kt.DeepCopy()
	after.Status.ClusterID, after.Spec.Managed = "", nil
	return after
}

func (s *modelServer) prunedStatus(d modelDocument) modelDocument {
	if !s.prunes || d == nil {
		return d
	}
	return d.merged(modelDocument{"clusterId": json.RawMessage("null")})
}

// modelEvent is one change. before is nil for a new object. gone marks a removal, of which after is the last state.
type modelEvent struct {
	key           types.NamespacedName
	before, after *v1.KafkaTopic
	gone          bool
}

// modelDocument is a stored JSON object; nil if there is none. The same package encodes all values, so equal values have equal texts.
type modelDocument map[string]json.RawMessage

// unseen is the default status of the CustomResourceDefinition.
var unseen = modelDocument{"observedGeneration": json.RawMessage("-1")}

func (d modelDocument) equal(other modelDocument) bool {
	return (d == nil) == (other == nil) && maps.EqualFunc(d, other, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// merged returns the document after a merge patch (RFC 7396). It supports no nested objects.
func (d modelDocument) merged(patch modelDocument) modelDocument {
	after := modelDocument{}
	maps.Copy(after, d)
	for field, value := range patch {
		if string(value) == "null" {
			delete(after, field)
		} else {
			after[field] = value
		}
	}
	return after
}

// status returns the document as a client reads it.
func (d modelDocument) status() (status v1.KafkaTopicStatus) {
	text, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&status); err != nil {
		panic(fmt.Sprintf("the model's API server cannot read %s: %v", text, err))
	}
	return status
}

func newModelServer(now func() time.Time) *modelServer {
	return &modelServer{objects: map[types.NamespacedName]*v1.KafkaTopic{}, last: map[types.UID]*v1.KafkaTopic{},
		statuses: map[types.UID]modelDocument{}, untold: map[types.UID]bool{}, hidden: map[types.UID]modelHidden{}, now: now}
}

var modelResource = schema.GroupResource{Group: v1.GroupVersion.Group, Resource: "kafkatopics"}

func versionOf(kt *v1.KafkaTopic) int {
	n, _ := strconv.Atoi(kt.ResourceVersion)
	return n
}

// create stores a new object. It reports whether the name was free.
func (s *modelServer) create(kt *v1.KafkaTopic) bool {
	key := client.ObjectKeyFromObject(kt)
	if s.objects[key] != nil {
		return false
	}
	s.uids++
	kt.UID = types.UID(fmt.Sprintf("uid-%d", s.uids))
	kt.Generation = 1
	kt.CreationTimestamp = metav1.NewTime(s.now().Truncate(time.Second))
	s.statuses[kt.UID] = unseen
	kt.Status = unseen.status()
	s.put(nil, s.pruned(kt))
	s.untold[kt.UID] = true
	return true
}

func (s *modelServer) put(before, after *v1.KafkaTopic) {
	s.version++
	after.ResourceVersion = strconv.Itoa(s.version)
	key := client.ObjectKeyFromObject(after)
	delete(s.hidden, after.UID)
	delete(s.untold, after.UID)
	s.last[after.UID] = after
	gone := after.DeletionTimestamp != nil && len(after.Finalizers) == 0
	if gone {
		delete(s.objects, key)
	} else {
		s.objects[key] = after
	}
	s.log = append(s.log, modelEvent{key: key, before: before, after: lastShown(before, after, gone), gone: gone})
}

// lastShown returns the object that a watch shows for a change. For an object whose last finalizer is removed, a watch shows the stored
// state, which still has the finalizer.
func lastShown(before, after *v1.KafkaTopic, gone bool) *v1.KafkaTopic {
	if !gone {
		return after
	}
	shown := before.DeepCopy()
	shown.ResourceVersion = after.ResourceVersion
	return shown
}

// change stores a changed object, unless nothing changes. The generation counts the changes of the specification. The status stays.
func (s *modelServer) change(key types.NamespacedName, f func(*v1.KafkaTopic)) bool {
	before := s.objects[key]
	if before == nil {
		return false
	}
	after := before.DeepCopy()
	f(after)
	after.Status = *before.Status.DeepCopy()
	after = s.pruned(after)
	if equality.Semantic.DeepEqual(before, after) && !s.untold[before.UID] {
		return false
	}
	if !equality.Semantic.DeepEqual(before.Spec, after.Spec) {
		after.Generation++
	}
	s.put(before, after)
	return true
}

// replaceStatus stores another status, as a client does that updates typed objects and omits empty fields.
func (s *modelServer) replaceStatus(key types.NamespacedName, status v1.KafkaTopicStatus) bool {
	before := s.objects[key]
	if before == nil {
		return false
	}
	text, err := json.Marshal(&v1.KafkaTopic{Status: status})
	if err != nil {
		panic(err)
	}
	var object struct {
		Status modelDocument `json:"status"`
	}
	if err := json.Unmarshal(text, &object); err != nil {
		panic(err)
	}
	if object.Status == nil {
		object.Status = unseen
	}
	object.Status = s.prunedStatus(object.Status)
	if object.Status.equal(s.statuses[before.UID]) && !s.untold[before.UID] {
		return false
	}
	after := before.DeepCopy()
	after.Status = object.Status.status()
	s.statuses[after.UID] = object.Status
	s.put(before, after)
	return true
}

// delete starts an object's deletion, or removes it at once if it has no finalizer. Then its last state has no deletionTimestamp.
func (s *modelServer) delete(key types.NamespacedName) bool {
	before := s.objects[key]
	if before == nil || before.DeletionTimestamp != nil {
		return false
	}
	if len(before.Finalizers) == 0 {
		s.vanish(key)
		return true
	}
	return s.change(key, func(kt *v1.KafkaTopic) {
		now := metav1.NewTime(s.now().Truncate(time.Second))
		kt.DeletionTimestamp = &now
		kt.Generation++
	})
}

// vanish removes an object in spite of its finalizers: the API server checks for finalizers at the beginning of a deletion only.
func (s *modelServer) vanish(key types.NamespacedName) {
	before := s.objects[key]
	after := before.DeepCopy()
	s.version++
	after.ResourceVersion = strconv.Itoa(s.version)
	delete(s.objects, key)
	s.last[after.UID] = after
	s.log = append(s.log, modelEvent{key: key, before: before, after: after, gone: true})
}

// modelWrite is a patch before it is stored.
type modelWrite struct {
	before, after *v1.KafkaTopic
	status, bound bool
}

// patch applies a patch. check receives the change before it is stored.
func (s *modelServer) patch(obj client.Object, patch client.Patch, status bool, check func(modelWrite)) error {
	key := client.ObjectKeyFromObject(obj)
	before := s.objects[key]
	if before == nil {
		return apierrors.NewNotFound(modelResource, key.Name)
	}
	p, err := s.readPatch(obj, patch, s.statuses[before.UID])
	switch {
	case err != nil:
		return err
	case p.Metadata.ResourceVersion != nil && *p.Metadata.ResourceVersion != before.ResourceVersion:
		return apierrors.NewConflict(modelResource, key.Name, errors.New("the object has been modified"))
	}
	after, stored := before.DeepCopy(), s.statuses[before.UID]
	if status && p.Status != nil {
		stored = s.prunedStatus(p.status(stored))
		after.Status = stored.status()
	} else if !status && p.Metadata.Finalizers != nil {
		after.Finalizers = slices.Clone(*p.Metadata.Finalizers)
		if before.DeletionTimestamp != nil && slices.ContainsFunc(after.Finalizers,
			func(f string) bool { return !slices.Contains(before.Finalizers, f) }) {
			return apierrors.NewInvalid(v1.GroupVersion.WithKind("KafkaTopic").GroupKind(), key.Name, field.ErrorList{
				field.Forbidden(field.NewPath("metadata", "finalizers"), "no new finalizers can be added if the object is being deleted")})
		}
	}
	if s.untold[before.UID] || !stored.equal(s.statuses[before.UID]) || !equality.Semantic.DeepEqual(before, after) {
		check(modelWrite{before: before, after: after, status: status, bound: p.Metadata.ResourceVersion != nil})
		s.statuses[after.UID] = stored
		s.put(before, after)
	}
	after.DeepCopyInto(obj.(*v1.KafkaTopic))
	return nil
}

// modelClient is a process's client of the API server: it reads from the process's cache, and writes to the server. Methods that it does
// not implement panic.
type modelClient struct {
	client.Client
	p *modelProcess
}

func (c *modelClient) Get(_ context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	pass := c.p.top()
	c.p.enter("get " + key.String())
	pass.cached = c.p.all()
	kt := c.p.cache[key]
	if kt == nil {
		pass.vanishes(c.p)
		return apierrors.NewNotFound(modelResource, key.Name)
	}
	pass.view, c.p.read[key] = kt, kt
	kt.DeepCopyInto(out.(*v1.KafkaTopic))
	c.p.w.plantThrottles(out.(*v1.KafkaTopic))
	c.p.w.plantInRead(out.(*v1.KafkaTopic))
	return nil
}

func (c *modelClient) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	return c.p.patch("patch", obj, patch, false)
}

func (c *modelClient) Status() client.SubResourceWriter { return &modelStatusClient{p: c.p} }

type modelStatusClient struct {
	client.SubResourceWriter
	p *modelProcess
}

func (c *modelStatusClient) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return c.p.patch("patch the status of", obj, c.p.w.plantInPatch(obj, patch), true)
}

// modelClaims finds claimants in a process's cache and on the API server.
type modelClaims struct{ p *modelProcess }

func (c *modelClaims) Of(_ context.Context, topic string) ([]v1.KafkaTopic, error) {
	if c.p.passing() && !c.p.showing {
		c.p.enter("find the claimants of " + topic)
	}
	all := c.p.all()
	if c.p.passing() && !c.p.showing {
		c.p.top().cached = all
	}
	var found []v1.KafkaTopic
	for _, kt := range all {
		if modelName(kt) == topic {
			found = append(found, c.planted(*kt))
		}
	}
	return found, nil
}

// planted returns a claimant as the operator sees it: plantedReleased makes a released one count forever.
func (c *modelClaims) planted(kt v1.KafkaTopic) v1.KafkaTopic {
	if c.p.w.config.plant == plantedReleased {
		kt.DeletionTimestamp = nil
	}
	return kt
}

func (c *modelClaims) Object(_ context.Context, key types.NamespacedName) (*v1.KafkaTopic, error) {
	c.p.enter("read " + key.String())
	kt := c.p.w.server.objects[key]
	if kt == nil {
		c.p.top().vanishes(c.p)
		return nil, nil
	}
	c.p.top().view, c.p.read[key] = kt, kt
	return kt.DeepCopy(), nil
}

func (c *modelClaims) Now(ctx context.Context, key types.NamespacedName, topic string) (*v1.KafkaTopic, []v1.KafkaTopic, error) {
	pass, planted := c.p.top(), c.p.w.config.plant
	if planted == plantedCacheClaims || planted == plantedCache {
		pass.cached = c.p.all()
	} else {
		pass.cached = c.p.w.all()
	}
	object := c.p.w.server.objects[key]
	if planted == plantedCacheObject || planted == plantedCache {
		object = c.p.cache[key]
	}
	var found []v1.KafkaTopic
	for _, kt := range pass.cached {
		if modelName(kt) == topic {
			found = append(found, c.planted(*kt))
		}
	}
	if object == nil {
		return nil, found, nil
	}
	if pass.view != nil && pass.view.UID == object.UID && versionOf(pass.view) <= versionOf(object) {
		pass.view = object
	}
	return object.DeepCopy(), found, nil
}
