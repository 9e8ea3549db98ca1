package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/operator/settings"
	"github.com/kafka-operators/kafka-operators/roller/internal/options"
)

// A namespace that was deleted, and the roller's rights in it with it, does not keep the others from being served.
func TestANamespaceThatWasDeletedKeepsNoOther(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		if strings.Contains(in.URL.Path, "/namespaces/deleted/pods") {
			out.WriteHeader(http.StatusForbidden)
			fmt.Fprint(out, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no rights"}`)
			return
		}
		fmt.Fprint(out, `{"kind":"List","apiVersion":"v1","items":[]}`)
	}))
	defer server.Close()
	var log strings.Builder
	w := &world{log: logging.New(&log, logging.Options{}), options: options.Options{Timeout: time.Minute,
		Namespaces: settings.Namespaces{Names: []string{"deleted", "kafka"}}}}
	served, err := w.served(t.Context(), &rest.Config{Host: server.URL}, func() {})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(served.String()).To(Equal("kafka"))
	g.Expect(log.String()).To(And(ContainSubstring("A namespace is not served"), ContainSubstring("deleted"), ContainSubstring("no rights")))
}
