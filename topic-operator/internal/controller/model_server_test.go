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

// modelServer is the part of an API server that matters to KafkaTopics. What it stores never changes: each write stores a new object, so
// that caches can share them.
type modelServer struct {
	objects map[types.NamespacedName]*v1.KafkaTopic
	// last is the last state of each object that ever was, by its uid.
	last map[types.UID]*v1.KafkaTopic
	// statuses are the statuses as they are stored, by the uids of their objects: a field that is stored empty and one that is not stored read
	// the same, and are not the same to the server.
	statuses map[types.UID]modelDocument
	// untold are the objects whose status is the default, and is not stored: any write stores it, and makes a new version.
	untold map[types.UID]bool
	// log is what a watch shows, in order.
	log     []modelEvent
	version int
	uids    int
	now     func() time.Time
	// prunes: a CustomResourceDefinition is applied that has neither status.clusterId nor spec.managed. hidden are the objects as they are
	// stored, as long as nobody writes to them: what is dropped is dropped when it is read, and lost when it is written.
	prunes bool
	// gullible: it takes each test of a JSON patch to hold.
	gullible bool
	hidden   map[types.UID]modelHidden
}

// modelHidden is what a CustomResourceDefinition hides of an object.
type modelHidden struct {
	object *v1.KafkaTopic
	status modelDocument
}

// swap applies another CustomResourceDefinition. Watches end and begin again, and show objects of the same version that are not the same.
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

// pruned is an object as it is read.
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

// modelEvent is one change: before is nil for a new object, and gone tells of the end of one, of which after is the last state.
type modelEvent struct {
	key           types.NamespacedName
	before, after *v1.KafkaTopic
	gone          bool
}

// modelDocument is a JSON object as it is stored; nil is none. All that comes to it was encoded by the same package, so that equal values
// are equal texts.
type modelDocument map[string]json.RawMessage

// unseen is the status of an object that has none, as the CustomResourceDefinition wants it.
var unseen = modelDocument{"observedGeneration": json.RawMessage("-1")}

func (d modelDocument) equal(other modelDocument) bool {
	return (d == nil) == (other == nil) && maps.EqualFunc(d, other, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// merged is the document after a merge patch of it (RFC 7396), as far as no field is an object.
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

// status is what a client reads of the document.
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

// create stores a new object. It reports whether there was none of that name.
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

// lastShown is what a watch shows of a change. Of an object that goes with its last finalizer it shows what was stored: the finalizer is
// still there.
func lastShown(before, after *v1.KafkaTopic, gone bool) *v1.KafkaTopic {
	if !gone {
		return after
	}
	shown := before.DeepCopy()
	shown.ResourceVersion = after.ResourceVersion
	return shown
}

// change stores a changed object, unless it is the same. The generation counts the changes of the specification. The status stays as it is.
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

// replaceStatus stores another status, as a client does that reads and writes objects and not patches, and leaves out what is empty.
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

// delete begins an object's deletion, or removes it at once if nothing holds it. Then its last state has no time of deletion in it.
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

// vanish removes an object, whatever holds it: the API server decides at the beginning of a deletion that nothing does.
func (s *modelServer) vanish(key types.NamespacedName) {
	before := s.objects[key]
	after := before.DeepCopy()
	s.version++
	after.ResourceVersion = strconv.Itoa(s.version)
	delete(s.objects, key)
	s.last[after.UID] = after
	s.log = append(s.log, modelEvent{key: key, before: before, after: after, gone: true})
}

// modelWrite is a patch that is about to be stored.
type modelWrite struct {
	before, after *v1.KafkaTopic
	status, bound bool
}

// patch carries a merge patch out. check sees what is about to be stored.
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

// modelClient is a process's way to the API server: it reads from the cache of the process, and writes to the server. Whatever else
// controller-runtime's clients can do ends in a panic.
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
	return c.p.patch("patch the status of", obj, patch, true)
}

// modelClaims finds claimants in the cache of a process, and on the API server.
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

// planted is a claimant as the operator sees it: one that was let go counts forever, if that fault is planted.
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
