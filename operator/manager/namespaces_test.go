package manager

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// readabilityOf returns a Readability of an API server that fails like this in a namespace.
func readabilityOf(fails func(namespace string) error) Readability {
	c := fake.NewSimpleDynamicClient(scheme.Scheme)
	c.PrependReactor("list", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
		err := fails(a.GetNamespace())
		return err != nil, nil, err
	})
	resources := []schema.GroupVersionResource{corev1.SchemeGroupVersion.WithResource("pods"),
		corev1.SchemeGroupVersion.WithResource("configmaps")}
	return Readability{Client: c, Resources: resources, Timeout: time.Second, Interval: time.Minute}
}

var errForbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no rights"))

func TestNamespacesThatCantBeRead(t *testing.T) {
	abc := settings.Namespaces{Names: []string{"a", "b", "c"}}
	for name, c := range map[string]struct {
		fails               map[string]error
		readable, forbidden string
	}{
		"all can be read":      {nil, "a,b,c", ""},
		"one is forbidden":     {map[string]error{"b": errForbidden}, "a,c", "b"},
		"the API server fails": {map[string]error{"b": apierrors.NewInternalError(errors.New("no answer"))}, "a,b,c", ""},
		"all are forbidden":    {map[string]error{"a": errForbidden, "b": errForbidden, "c": errForbidden}, "a,b,c", ""},
	} {
		t.Run(name, func(t *testing.T) {
			readable, forbidden := readabilityOf(func(ns string) error { return c.fails[ns] }).Split(t.Context(), abc)
			var names []string
			for ns := range forbidden {
				names = append(names, ns)
			}
			slices.Sort(names)
			if readable.String() != c.readable || strings.Join(names, ",") != c.forbidden {
				t.Errorf("readable %s, forbidden %v", readable, forbidden)
			}
		})
	}
	all := settings.Namespaces{All: true}
	readable, forbidden := readabilityOf(func(string) error { return errForbidden }).Split(t.Context(), all)
	if !readable.All || len(forbidden) > 0 {
		t.Errorf("readable %s, forbidden %v", readable, forbidden)
	}
}

// silent is a client of an API server that takes requests and answers none.
type silent struct {
	dynamic.NamespaceableResourceInterface
}

func (s silent) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return s
}

func (s silent) Namespace(string) dynamic.ResourceInterface { return s }

func (s silent) List(ctx context.Context, _ metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// The program does not serve its probes before it has split its namespaces, and would be killed.
func TestManyNamespacesDelayNoStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := readabilityOf(nil)
		r.Client = silent{}
		var many settings.Namespaces
		for i := range 50 {
			many.Names = append(many.Names, strconv.Itoa(i))
		}
		readable, forbidden := r.Split(t.Context(), many)
		if took := time.Since(began); took > 2*time.Second || len(readable.Names) != 50 || len(forbidden) > 0 {
			t.Errorf("readable %s, forbidden %v after %s", readable, forbidden, took)
		}
	})
}

func TestANamespaceThatCanBeReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := readabilityOf(func(ns string) error {
			switch {
			case ns == "c" && time.Since(began) > 150*time.Second:
				return nil
			case time.Since(began) > 90*time.Second:
				return apierrors.NewInternalError(errors.New("no answer"))
			}
			return errForbidden
		})
		if ns := r.Await(t.Context(), []string{"b", "c"}); ns != "c" || time.Since(began) != 3*time.Minute {
			t.Errorf("%q after %s", ns, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if ns := r.Await(ctx, []string{"b"}); ns != "" {
			t.Error(ns)
		}
	})
}
