package app

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
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

// apiServer answers requests without a network.
type apiServer func(in *http.Request) (status int, body string, err error)

func (s apiServer) RoundTrip(in *http.Request) (*http.Response, error) {
	status, body, err := s(in)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Request: in,
		Body: io.NopCloser(strings.NewReader(body))}, nil
}

// A slow API server answers about many namespaces, and never about one of them. The last one was deleted.
func TestADeletedNamespaceIsFoundAmongMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		server := apiServer(func(in *http.Request) (int, string, error) {
			answers := time.After(time.Second)
			if strings.Contains(in.URL.Path, "/namespaces/silent/") {
				answers = nil
			}
			select {
			case <-in.Context().Done():
				return 0, "", in.Context().Err()
			case <-answers:
			}
			if strings.Contains(in.URL.Path, "/namespaces/deleted/") {
				return http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`, nil
			}
			return http.StatusOK, `{"kind":"List","apiVersion":"v1","items":[]}`, nil
		})
		names := []string{"silent"}
		for i := range 30 {
			names = append(names, fmt.Sprint("kafka", i))
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := &world{log: logging.New(io.Discard, logging.Options{}), options: options.Options{Timeout: 20 * time.Second,
			Namespaces: settings.Namespaces{Names: append(names, "deleted")}}}
		served, err := w.served(ctx, configFor(&rest.Config{Host: "http://api", Transport: server}), func() {})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(served.Names).To(Equal(names))
	})
}
