package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/options"
)

func TestTheImageOfTheExporterIsTheOperatorsOwn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "exporter.jar")
	NewWithT(t).Expect(os.WriteFile(file, []byte("a jar"), 0o600)).To(Succeed())
	pod := func(annotations map[string]string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ops", Name: identity(), Annotations: annotations},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "cluster-operator", Image: "own:1"}, {Name: "proxy", Image: "proxy:1"}}}}
	}
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", errors.New("no"))
	for name, c := range map[string]struct {
		setting, file, want string
		pod                 *corev1.Pod
		err                 error
		fails               bool
	}{
		"the first container's": {setting: options.OwnImage, file: file, pod: pod(nil), want: "own:1"},
		"the main container's": {setting: options.OwnImage, file: file, pod: pod(map[string]string{mainContainer: "proxy"}),
			want: "proxy:1"},
		"an image without it":        {setting: options.OwnImage, file: file + "x", pod: pod(nil)},
		"no pod of this name":        {setting: options.OwnImage, file: file},
		"pods that can't be read":    {setting: options.OwnImage, file: file, err: refused},
		"an API server that fails":   {setting: options.OwnImage, file: file, err: errors.New("down"), fails: true},
		"an image that users name":   {setting: "their:1", file: file + "x", want: "their:1"},
		"none, as users want it":     {setting: options.NoImage, file: file, pod: pod(nil)},
		"their image, and a failure": {setting: "their:1", file: file, err: errors.New("down"), want: "their:1"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, w client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if c.err != nil {
						return c.err
					}
					return w.Get(ctx, key, o, opts...)
				}})
			if c.pod != nil {
				b = b.WithObjects(c.pod)
			}
			got, err := exporterImage(t.Context(), b.Build(), options.Options{ExporterImage: c.setting, OperatorNamespace: "ops"}, c.file)
			g.Expect(err != nil).To(Equal(c.fails), "%v", err)
			g.Expect(got).To(Equal(c.want))
		})
	}
}

func TestTheExporterIsCopiedAsAWhole(t *testing.T) {
	g := NewWithT(t)
	from, to := filepath.Join(t.TempDir(), "exporter.jar"), t.TempDir()
	g.Expect(os.WriteFile(from, []byte("a jar"), 0o600)).To(Succeed())
	for range 2 { // the container may restart
		g.Expect(copyFile(from, to)).To(Succeed())
		g.Expect(os.ReadFile(filepath.Join(to, "exporter.jar"))).To(BeEquivalentTo("a jar"))
	}
	info, err := os.Stat(filepath.Join(to, "exporter.jar"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(BeEquivalentTo(0o644), "others may read it")
	g.Expect(os.ReadDir(to)).To(HaveLen(1))
	g.Expect(copyFile(from, filepath.Join(to, "absent"))).To(MatchError(os.ErrNotExist))
	g.Expect(copyFile(from+"x", to)).To(MatchError(os.ErrNotExist))
}
