//go:build linux

package stretch

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
)

// faults is a proxy of an API server. Writes through it can fail.
type faults struct {
	server *httptest.Server

	mu sync.Mutex
	// left is how many more writes fail; with after, the API server carries them out, and only their answer is lost.
	left  int
	after bool
}

// failWrites has a number of writes fail from now on.
func (f *faults) failWrites(n int, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.after = n, after
}

// fails reports whether a request fails, and whether after it was carried out.
func (f *faults) fails(r *http.Request) (fails, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Method == http.MethodGet || f.left == 0 {
		return false, false
	}
	f.left--
	return true, f.after
}

// putFaultsBeforeEast has central operators that are started later reach cluster-east through a proxy.
func (r *realm) putFaultsBeforeEast() {
	r.t.Helper()
	config := rest.AnonymousClientConfig(r.planes[eastID].RESTConfig())
	transport, err := rest.TransportFor(config)
	r.Expect(err).NotTo(HaveOccurred())
	target, err := url.Parse(config.Host)
	r.Expect(err).NotTo(HaveOccurred())
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport, FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }}
	f := &faults{}
	f.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fails, after := f.fails(r)
		if after {
			proxy.ServeHTTP(httptest.NewRecorder(), r)
		}
		if fails {
			panic(http.ErrAbortHandler) // the connection ends
		}
		proxy.ServeHTTP(w, r)
	}))
	f.server.EnableHTTP2 = true
	f.server.Config.ErrorLog = log.New(io.Discard, "", 0) // connections that end with their clients
	f.server.StartTLS()
	r.t.Cleanup(func() {
		f.server.CloseClientConnections()
		f.server.Close()
	})
	r.faults = f
	r.connect(eastID)
}
