// Command testserver runs in the pods of this package's tests. It logs each request, and responds to
//
//	GET  /from             the client's address, as the server sees it
//	GET  /fetch?url=URL    what the server gets from there
//	GET  /data             what was posted to /data, which is in the folder /data
//	POST /data             adds a line
//	GET  /probe/NAME       200, or 503 after POST /fail/NAME
//
// With the argument "whoami" it prints its host's name and ends, for exec.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

const dataFile = "/data/lines"

// fetchTimeout is short: tests request URLs that may be cut off.
const fetchTimeout = time.Second

func main() {
	if len(os.Args) == 2 && os.Args[1] == "whoami" {
		name, err := os.Hostname()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(name)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	server := &http.Server{Addr: ":8080", Handler: logged(routes()), ReadHeaderTimeout: fetchTimeout}
	go func() {
		<-ctx.Done()
		_ = server.Close() // the pod ends anyway
	}()
	log.Print("serving")
	if err := server.ListenAndServe(); ctx.Err() == nil {
		log.Fatal(err)
	}
}

func logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		log.Printf("%s %s from %s", r.Method, r.URL, r.RemoteAddr)
		next.ServeHTTP(w, r)
	})
}

func routes() http.Handler {
	var failing sync.Map
	mux := http.NewServeMux()
	mux.HandleFunc("GET /from", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.RemoteAddr) })
	mux.HandleFunc("GET /fetch", fetch)
	mux.HandleFunc("GET /data", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, dataFile) })
	mux.HandleFunc("POST /data", func(w http.ResponseWriter, r *http.Request) { answer(w, appendLine(r.Body)) })
	mux.HandleFunc("POST /fail/{name}", func(_ http.ResponseWriter, r *http.Request) { failing.Store(r.PathValue("name"), true) })
	mux.HandleFunc("GET /probe/{name}", func(w http.ResponseWriter, r *http.Request) {
		if _, fails := failing.Load(r.PathValue("name")); fails {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	return mux
}

func answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
	}
}

func fetch(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), fetchTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL.Query().Get("url"), nil)
	if err != nil {
		answer(w, err)
		return
	}
	// Use a new connection for each request: an old one would outlive the tested state.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		answer(w, err)
		return
	}
	defer response.Body.Close()
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body) // the client notices a missing rest
}

// appendLine returns when the line is on the disk: the node may lose its power next.
func appendLine(line io.Reader) error {
	f, err := os.OpenFile(dataFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.Copy(f, line); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f); err != nil {
		return err
	}
	return f.Sync()
}
