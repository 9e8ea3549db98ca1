package credentials

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
)

const (
	// tokenTimeout limits one request for a token, for callers without a deadline.
	tokenTimeout = 30 * time.Second
	// tokenSize bounds the size of an answer, in bytes. Tokens with many roles have some 10 kB.
	tokenSize = 1 << 20
	// renewBefore is the latest time before its end at which a token is renewed; shorter tokens are renewed when a fifth of their life is
	// left.
	renewBefore = time.Minute
	// refusedFor is how long a refusal of the server is repeated to callers without another request, which could lock the account.
	refusedFor = 10 * time.Second
)

// tokenSource fetches tokens by OAuth 2.0's client credentials grant, and reuses the last one while it is valid.
type tokenSource struct {
	oauth      OAuth
	id, secret string
	trust      string
	clientOnce sync.Once
	client     *http.Client
	now        func() time.Time
	// turn is a mutex for fetches, as a channel, so that a caller can stop waiting.
	turn chan struct{}
	last bearer
	// refusal is the server's last refusal of this client, and nil after a success.
	refusal   error
	refusedAt time.Time
}

// bearer is a token, with the time from which it is renewed and the time at which it expires.
type bearer struct {
	text           string
	renew, expires time.Time
}

func newTokenSource(oauth OAuth, m Material) *tokenSource {
	return &tokenSource{oauth: oauth, id: m.name, secret: m.secret, trust: m.trust, now: time.Now, turn: make(chan struct{}, 1)}
}

// token is the Token function of a kafka.SASL. Concurrent callers share one request, and callers within refusedFor a refusal. Errors of the
// server's answers are *kafka.Error.
func (s *tokenSource) token(ctx context.Context) (string, map[string]string, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return "", nil, ctx.Err()
	}
	if !s.now().Before(s.last.renew) {
		fresh, err := s.renewed(ctx)
		switch {
		case err == nil:
			s.last = fresh
		case !s.now().Before(s.last.expires):
			return "", nil, err
		}
		// A failed renewal is no error yet, because the old token is still valid.
	}
	return s.last.text, maps.Clone(s.oauth.Extensions), nil
}

// renewed fetches a token, unless the server refused that just now.
func (s *tokenSource) renewed(ctx context.Context) (bearer, error) {
	if s.refusal != nil && s.now().Before(s.refusedAt.Add(refusedFor)) {
		return bearer{}, s.refusal
	}
	fresh, err := s.fetch(ctx)
	s.refusal = nil
	if kafka.ClassOf(err) == kafka.ClassAuthentication {
		s.refusal, s.refusedAt = err, s.now()
	}
	return fresh, err
}

// fetch requests a token from the token endpoint.
func (s *tokenSource) fetch(ctx context.Context) (bearer, error) {
	form := url.Values{"grant_type": {"client_credentials"}}
	if s.oauth.Scope != "" {
		form.Set("scope", s.oauth.Scope)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.oauth.TokenEndpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return bearer{}, errors.New("the token endpoint is not a URL")
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json")
	request.SetBasicAuth(s.id, s.secret)
	asked := s.now()
	response, err := s.httpClient().Do(request)
	if err != nil {
		// Drop the URL of a url.Error, which may include a query: the host is enough.
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return bearer{}, fmt.Errorf("token endpoint at %s: %w", request.URL.Host, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, tokenSize))
	if err != nil {
		return bearer{}, fmt.Errorf("token endpoint at %s: %w", request.URL.Host, err)
	}
	fresh, err := s.parse(response.StatusCode, body, asked)
	if err != nil {
		return bearer{}, answered(response.StatusCode, fmt.Sprintf("token endpoint at %s: %v", request.URL.Host, err))
	}
	return fresh, nil
}

// answered returns the error of an answer without a token. A rejected request is a refused login: more attempts would only lock the
// account.
func answered(status int, message string) *kafka.Error {
	switch status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden:
		return &kafka.Error{Code: kafka.CodeSASLAuthenticationFailed, Name: "SaslAuthenticationException", Class: kafka.ClassAuthentication,
			Message: message + "; check the client id, the client secret and the scope"}
	}
	return kafka.NewTransportError("no OAUTHBEARER token: "+message, nil)
}

// parse parses the answer of the token endpoint (RFC 6749, 5.1 and 5.2).
func (s *tokenSource) parse(status int, body []byte, asked time.Time) (bearer, error) {
	var answer struct {
		Token       string      `json:"access_token"`
		Type        string      `json:"token_type"`
		ExpiresIn   json.Number `json:"expires_in"`
		Error       string      `json:"error"`
		Description string      `json:"error_description"`
	}
	malformed := json.Unmarshal(body, &answer) != nil
	if status != http.StatusOK {
		// Conditions contain the text: what Microsoft adds for its support differs between answers.
		description, _, _ := strings.Cut(answer.Description, "Trace ID:")
		return bearer{}, fmt.Errorf("HTTP status %d %s", status, s.clean(answer.Error+" "+description))
	}
	if malformed || answer.Token == "" {
		return bearer{}, errors.New("the response has no access_token")
	}
	if answer.Type != "" && !strings.EqualFold(answer.Type, "bearer") {
		return bearer{}, errors.New("the token is not of type bearer")
	}
	// Without a lifetime, the token is used for this login only. Some servers send a fraction, or text.
	seconds, _ := answer.ExpiresIn.Float64()
	life := time.Duration(min(max(seconds, 0), 365*24*3600) * float64(time.Second))
	return bearer{text: answer.Token, renew: asked.Add(life - min(renewBefore, life/5)), expires: asked.Add(life)}, nil
}

// clean formats a server's text for a log: short, on one line, and without the secret that it may quote.
func (s *tokenSource) clean(text string) string {
	if s.secret != "" {
		text = strings.ReplaceAll(text, s.secret, Mask)
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 300 {
		text = text[:300] + "..."
	}
	return strings.ToValidUTF8(text, "")
}

// httpClient trusts the system's authorities and those of the brokers, because token servers may use either.
func (s *tokenSource) httpClient() *http.Client {
	s.clientOnce.Do(func() {
		if s.client != nil {
			return
		}
		config := &tls.Config{MinVersion: tls.VersionTLS12}
		if s.trust != "" {
			roots, err := x509.SystemCertPool()
			if err != nil {
				roots = x509.NewCertPool()
			}
			roots.AppendCertsFromPEM([]byte(s.trust))
			config.RootCAs = roots
		}
		s.client = &http.Client{
			Timeout: tokenTimeout,
			// Requests for tokens are rare: an open connection would only outlive the configuration it belongs to.
			Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, DisableKeepAlives: true, ForceAttemptHTTP2: true},
			// Never send the client's secret to another address.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	})
	return s.client
}
