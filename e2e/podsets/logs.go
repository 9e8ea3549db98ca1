package podsets

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
)

const loopback = "127.0.0.1"

// logServer is the part of a kubelet that serves the logs of containers to the API server.
type logServer struct {
	server *httptest.Server
	port   int
}

func serveLogs(f *Fixture) (*logServer, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		text, err := f.log(r.PathValue("pod"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		if lines, err := strconv.Atoi(r.FormValue("tailLines")); err == nil {
			text = lastLines(text, lines)
		}
		_, _ = w.Write(text) // the client may have disconnected
	})
	server := httptest.NewTLSServer(mux) // by default, the API server trusts any kubelet
	address, err := url.Parse(server.URL)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(address.Port())
	return &logServer{server, port}, err
}

func (s *logServer) close() { s.server.Close() }

// log returns the log of a pod: the part of its node's log since the process was last started for the pod.
func (f *Fixture) log(pod string) ([]byte, error) {
	id, ok := nodeID(pod)
	f.mu.Lock()
	p := f.nodes[id]
	if !ok || p == nil {
		f.mu.Unlock()
		return nil, os.ErrNotExist
	}
	since := p.since
	f.mu.Unlock()
	file, err := os.Open(f.options.Kafka.LogFile(id))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(since, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(file)
}

func lastLines(text []byte, n int) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	if last := len(lines) - 1; last >= 0 && len(lines[last]) == 0 {
		lines = lines[:last]
	}
	return bytes.Join(lines[max(0, len(lines)-n):], nil)
}
