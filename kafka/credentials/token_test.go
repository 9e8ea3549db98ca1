package credentials

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// endpoint serves tokens over TLS, and returns a source that requests them.
func endpoint(t *testing.T, serve http.HandlerFunc) *tokenSource {
	t.Helper()
	server := httptest.NewUnstartedServer(serve)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that tests make fail
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return newTokenSource(OAuth{TokenEndpoint: server.URL + "/token?tenant=t", Scope: "a b", Extensions: map[string]string{"lc": "1"}},
		Material{trust: string(ca), name: "alice", secret: "FORBIDDEN"})
}

func answer(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
}

func TestTokenRequest(t *testing.T) {
	s := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		if r.Method != http.MethodPost || r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "a b" || id != "alice" ||
			secret != "FORBIDDEN" {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = w.Write([]byte(`{"access_token":"t1","token_type":"Bearer","expires_in":"3600"}`))
	})
	text, extensions, err := s.token(t.Context())
	if err != nil || text != "t1" || extensions["lc"] != "1" {
		t.Errorf("%q, %v, %v", text, extensions, err)
	}
	extensions["lc"] = "changed"
	if _, again, _ := s.token(t.Context()); again["lc"] != "1" {
		t.Error("a caller changed the extensions of the others")
	}
}

func TestTokenIsKeptWhileItIsGood(t *testing.T) {
	cases := map[string]struct {
		life string
		// kept is how long the first token is used before it is renewed. good is how long it is used if the renewal fails.
		kept, good time.Duration
	}{
		"an hour":    {`3600`, 59 * time.Minute, time.Hour},
		"a minute":   {`60`, 48 * time.Second, time.Minute},
		"a fraction": {`10.5`, 8400 * time.Millisecond, 10500 * time.Millisecond},
		"unknown":    {`0`, 0, 0},
		"nonsense":   {`-5`, 0, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			var broken atomic.Bool
			s := endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
				if broken.Load() {
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				_, _ = w.Write([]byte(`{"access_token":"t` + string('0'+byte(calls.Add(1))) + `","expires_in":` + c.life + `}`))
			})
			now := time.Now()
			s.now = func() time.Time { return now }
			began := now
			at := func(since time.Duration, want string) {
				t.Helper()
				now = began.Add(since)
				if text, _, err := s.token(t.Context()); text != want || (err != nil) != (want == "") {
					t.Errorf("after %s: %q, %v; want %q", since, text, err, want)
				}
			}
			at(0, "t1")
			if c.kept > 0 {
				at(c.kept-time.Millisecond, "t1")
				broken.Store(true)
				at(c.kept, "t1") // renewal fails, but the token is still valid
			}
			broken.Store(true)
			at(c.good, "")
			broken.Store(false)
			at(c.good, "t2")
		})
	}
}

func TestTokenErrors(t *testing.T) {
	redirected := false
	cases := map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"refused": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":"invalid_client","error_description":"no client with\n secret FORBIDDEN"}`))
		}, "HTTP status 401 invalid_client no client with secret ********"},
		"not JSON":     {answer("<html>FORBIDDEN</html>"), "the response has no access_token"},
		"no token":     {answer(`{"expires_in":5}`), "the response has no access_token"},
		"another type": {answer(`{"access_token":"x","token_type":"mac"}`), "not of type bearer"},
		"redirected": {func(w http.ResponseWriter, r *http.Request) {
			redirected = redirected || r.URL.Path != "/token"
			http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
		}, "HTTP status 307"},
		"connection ended": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "token endpoint at 127.0.0.1:"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, _, err := endpoint(t, c.serve).token(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "FORBIDDEN") ||
				strings.Contains(err.Error(), "tenant") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if redirected {
		t.Error("the client's secret was sent to another place")
	}
}

// TestARefusedClient covers what a server answers to a client that it does not let in: callers must not ask again and again.
func TestARefusedClient(t *testing.T) {
	for status, want := range map[int]kafka.Class{
		http.StatusBadRequest: kafka.ClassAuthentication, http.StatusUnauthorized: kafka.ClassAuthentication,
		http.StatusForbidden: kafka.ClassAuthentication, http.StatusTooManyRequests: kafka.ClassRetriable,
		http.StatusInternalServerError: kafka.ClassRetriable, http.StatusServiceUnavailable: kafka.ClassRetriable,
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			asked, good := 0, false
			s := endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
				asked++
				if good {
					_, _ = w.Write([]byte(`{"access_token":"t1","expires_in":60}`))
					return
				}
				w.WriteHeader(status)
				_, _ = w.Write([]byte(`{"error":"invalid_client","error_description":"AADSTS7000215: not FORBIDDEN. Trace ID: 5 Timestamp: 7"}`))
			})
			now := time.Now()
			s.now = func() time.Time { return now }
			_, _, err := s.token(t.Context())
			_, _, again := s.token(t.Context())
			var e *kafka.Error
			if !errors.As(err, &e) || e.Class != want || again == nil || again.Error() != err.Error() {
				t.Fatalf("got %v of class %d, and then %v; want class %d", err, kafka.ClassOf(err), again, want)
			}
			text := fmt.Sprintf("HTTP status %d invalid_client AADSTS7000215: not ********.", status)
			checked := strings.Contains(e.Message, "; check the client id, the client secret and the scope")
			if !strings.Contains(e.Message, text) || strings.Contains(e.Message, "Trace") || checked != (want == kafka.ClassAuthentication) {
				t.Errorf("the message is %q, want %q in it", e.Message, text)
			}
			if remembered := asked == 1; remembered != (want == kafka.ClassAuthentication) {
				t.Errorf("the server was asked %d times", asked)
			}
			good, now = true, now.Add(refusedFor)
			if text, _, err := s.token(t.Context()); text != "t1" {
				t.Errorf("the server lets the client in meanwhile: %v", err)
			}
		})
	}
}

func TestTokenEndpointMustBeTrusted(t *testing.T) {
	s := endpoint(t, answer(`{"access_token":"x"}`))
	s.trust = ""
	if _, _, err := s.token(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server nobody trusts: %v", err)
	}
}

// roundTripper responds without a network, so that synctest can detect when all goroutines wait.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTokenCallersShareOneRequestAndMayStopWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		calls := 0
		s := newTokenSource(OAuth{TokenEndpoint: "https://idp/token"}, Material{name: "a", secret: "b"})
		s.client = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			calls++
			select {
			case <-release:
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
			recorder := httptest.NewRecorder()
			_, _ = recorder.WriteString(`{"access_token":"t","expires_in":60}`)
			return recorder.Result(), nil
		})}
		results := make(chan error, 3)
		for range 2 {
			go func() { _, _, err := s.token(t.Context()); results <- err }()
		}
		synctest.Wait()
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, err := s.token(impatient)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting for others: %v", err)
		}
		close(release)
		for range 2 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if calls != 1 {
			t.Errorf("%d requests, want 1", calls)
		}
	})
}

func TestTokenRequestHonoursItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTokenSource(OAuth{TokenEndpoint: "https://idp/token"}, Material{})
		s.client = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := s.token(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}
