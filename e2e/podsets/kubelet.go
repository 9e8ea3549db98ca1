package podsets

import (
	"context"
	"errors"
	"os"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
)

// place returns the name of the Node of all pods of a namespace: several fixtures may share an API server.
func place(namespace string) string { return "podsets-" + namespace }

// look is the interval at which the kubelet checks each process.
const look = 100 * time.Millisecond

// kubelet runs a process for each pod.
type kubelet struct {
	client client.Client
	// reader reads from the API server: a cache may still have another pod of the same name.
	reader  client.Reader
	fixture *Fixture
}

// register creates the Node, with the address of the log server.
func (k *kubelet) register(ctx context.Context, port int) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: place(k.fixture.options.Namespace)}}
	if err := k.client.Create(ctx, node); err != nil {
		return err
	}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: loopback}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(port)
	return k.client.Status().Update(ctx, node)
}

// Reconcile implements reconcile.Reconciler.
func (k *kubelet) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var pod corev1.Pod
	id, ok := nodeID(request.Name)
	if err := k.reader.Get(ctx, request.NamespacedName, &pod); err != nil || !ok {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	p, err := k.process(id, &pod)
	if err != nil {
		return ctrl.Result{}, err
	}
	switch {
	case pod.DeletionTimestamp != nil:
		return ctrl.Result{}, k.end(ctx, p, &pod)
	case pod.Spec.NodeName == "":
		binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: place(pod.Namespace)}}
		return ctrl.Result{RequeueAfter: look}, k.client.SubResource("binding").Create(ctx, &pod, binding)
	}
	return ctrl.Result{RequeueAfter: look}, k.keep(ctx, p, &pod)
}

// process returns the process of a node. A new pod does not get the process of an earlier pod, except for processes that ran before there
// were pods.
func (k *kubelet) process(id int32, pod *corev1.Pod) (*process, error) {
	f := k.fixture
	f.mu.Lock()
	p := f.nodes[id]
	if p == nil {
		p = &process{kafka: f.options.Kafka, node: id}
		if p.running() {
			p.pod, p.begun = pod.UID, true
		}
		f.nodes[id] = p
	}
	f.mu.Unlock()
	if p.pod == pod.UID {
		return p, nil
	}
	if err := p.stop(); err != nil { // the previous pod was force-deleted
		return nil, err
	}
	since, err := p.logLength() // the log of this pod begins here
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	next := &process{kafka: f.options.Kafka, node: id, pod: pod.UID, since: since}
	f.nodes[id] = next
	return next, nil
}

// end stops the process, and then removes the pod.
func (k *kubelet) end(ctx context.Context, p *process, pod *corev1.Pod) error {
	k.fixture.logf("node %d is stopped: pod %s is deleted", p.node, pod.UID)
	if err := p.stop(); err != nil {
		return err
	}
	return client.IgnoreNotFound(k.client.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID}))
}

// keep runs the process unless the pod has a fault, and writes the pod's status.
func (k *kubelet) keep(ctx context.Context, p *process, pod *corev1.Pod) error {
	fault, broken := k.fixture.fault(p.node, pod)
	if broken && fault.Waiting != "" {
		if err := p.crash(); err != nil {
			return err
		}
		return k.tell(ctx, pod, false, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: fault.Waiting}})
	}
	serves, failed := p.serves()
	if failed != nil {
		k.fixture.logf("%v", failed)
	}
	if !p.running() && !p.isStarting() {
		if err := k.run(ctx, p, pod); err != nil {
			return err
		}
	}
	return k.tell(ctx, pod, serves && !broken, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
}

// run starts the process with the configuration of its ConfigMap.
func (k *kubelet) run(ctx context.Context, p *process, pod *corev1.Pod) error {
	var config corev1.ConfigMap
	if err := k.reader.Get(ctx, client.ObjectKeyFromObject(pod), &config); err != nil {
		return err
	}
	text, ok := config.Data[configKey]
	if !ok {
		return errors.New("ConfigMap " + config.Name + " has no " + configKey)
	}
	if err := os.WriteFile(k.fixture.configFile(p.node), []byte(text), 0o600); err != nil {
		return err
	}
	if err := k.beginLog(p); err != nil {
		return err
	}
	start := Start{Node: p.node, Pod: string(pod.UID), Revision: pod.Annotations[core.AnnotationRevision], At: time.Now()}
	k.fixture.logf("node %d is started for pod %s, revision %s", start.Node, start.Pod, start.Revision)
	if !p.begun {
		p.begun = true
		k.fixture.began(start)
	}
	p.start(context.WithoutCancel(ctx)) // the start continues after this check; Close ends it
	return nil
}

// beginLog makes the pod's log start with the process that is about to start: a kubelet serves the log of the present container only.
func (k *kubelet) beginLog(p *process) error {
	since, err := p.logLength()
	if err != nil {
		return err
	}
	k.fixture.mu.Lock()
	defer k.fixture.mu.Unlock()
	p.since = since
	return nil
}

// tell writes the pod's status if it changed.
func (k *kubelet) tell(ctx context.Context, pod *corev1.Pod, is bool, state corev1.ContainerState) error {
	status := pod.Status.DeepCopy()
	status.Phase = corev1.PodRunning
	condition := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()}
	if is {
		condition.Status = corev1.ConditionTrue
	}
	if is != core.IsReady(pod) || len(status.Conditions) == 0 {
		status.Conditions = []corev1.PodCondition{condition}
	}
	status.ContainerStatuses = []corev1.ContainerStatus{{Name: kafkaContainer, Image: "kafka", ImageID: "kafka", Ready: is, State: state}}
	if reflect.DeepEqual(status, &pod.Status) {
		return nil
	}
	pod.Status = *status
	return unlessOvertaken(k.client.Status().Update(ctx, pod))
}

// unlessOvertaken drops the error of a write that conflicts with a newer one: the newer one causes another pass.
func unlessOvertaken(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
