package saramakafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// gaveUp returns the error of a call without an answer. Its message is the same for each attempt, because conditions contain it, and must
// not change while nothing changes.
func (r *router) gaveUp(ctx context.Context, t *trial) error {
	if errors.Is(t.last, errNotController) || t.misses > 0 && r.kind == controllers && t.request.repeat != once {
		return errNotController // no broker that answered executed it
	}
	if known := explained(t.last); known != nil {
		return known
	}
	var token *tokenFailed
	cause := t.last
	if ctx.Err() != nil {
		cause = errors.Join(context.Cause(ctx), t.last)
	}
	message := fmt.Sprintf("no %s answered (%s)", r.kind, r.settings.addresses())
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		message = fmt.Sprintf("the call was cancelled before a %s answered (%s)", r.kind, r.settings.addresses())
	case t.attempts > 0 && t.request.repeat == once:
		message = fmt.Sprintf("no response to %s, which may have been executed (%s)", t.request.name, r.settings.addresses())
	case errors.Is(t.last, errNoClusterID):
		message = fmt.Sprintf("no %s reported its cluster id (%s)", r.kind, r.settings.addresses())
	case errors.As(t.last, &token):
		message = fmt.Sprintf("no OAUTHBEARER token (%s)", r.settings.addresses())
	case t.request.broker != anyBroker:
		message = fmt.Sprintf("%s %d does not answer (%s)", r.kind, t.request.broker, r.settings.addresses())
	}
	return kafka.NewTransportError(message, cause)
}

// explained returns the port's own error from a source of tokens, or nil: it is more precise.
func explained(err error) *kafka.Error {
	var (
		token *tokenFailed
		own   *kafka.Error
	)
	if errors.As(err, &token) && errors.As(token.cause, &own) {
		return own
	}
	return nil
}

// notLoggedIn returns the error of a rejected login or TLS handshake.
func (r *router) notLoggedIn(cause error) error {
	if known := explained(cause); known != nil {
		return known
	}
	var (
		login   *loginRefused
		aborted *loginAborted
		out     = &kafka.Error{Code: kafka.CodeSASLAuthenticationFailed, Name: "SaslAuthenticationException", Class: kafka.ClassAuthentication}
		s       = r.settings
	)
	switch {
	case errors.As(cause, &login):
		out.Message = fmt.Sprintf("%s; check the %s (%s)", serverText(login.cause), s.login.what(), s.addresses())
	case errors.As(cause, &aborted):
		out.Message = fmt.Sprintf("every broker closed the connection during login; check the %s (%s)", s.login.what(), s.addresses())
	default:
		return s.noHandshake(cause, time.Now())
	}
	return out
}

// noHandshake returns the error of a rejected TLS handshake.
func (s *settings) noHandshake(cause error, now time.Time) error {
	failure, check := tlsFailure(cause), "check the trusted certificates, the client certificate and the listener's protocol"
	if out := outOfDate(cause); out != nil {
		check = cmp.Or(out.check(), check)
	}
	switch own := s.certificate(); {
	case failure != kafka.TLSAlert:
	case own == nil:
		failure = kafka.TLSNoCertificate
		check = "check the trusted certificates, the listener's protocol, and whether it requires a client certificate, of which this " +
			"client has none"
	case now.Before(own.NotBefore) || now.After(own.NotAfter):
		failure = kafka.TLSOwnExpired
		check = fmt.Sprintf("the client certificate is valid only from %s to %s", own.NotBefore.UTC().Format(time.RFC3339),
			own.NotAfter.UTC().Format(time.RFC3339))
	}
	return kafka.NewTLSError(fmt.Sprintf("SSL handshake failed: %s; %s (%s)", tlsText(cause), check, s.addresses()), failure)
}

// what names the credentials that a user should check.
func (l *login) what() string {
	if l.token != nil {
		return "OAUTHBEARER token"
	}
	return fmt.Sprintf("username, the password and the mechanism %s", l.mechanism)
}

// serverText removes sarama's own words from the broker's message.
func serverText(err error) string {
	const ours = "kafka server: SASL Authentication failed"
	if text, ok := strings.CutPrefix(err.Error(), ours); ok {
		text = strings.TrimLeft(text, ".: ")
		if text == "" {
			return "Authentication failed"
		}
		return text
	}
	return err.Error()
}

// tlsText returns the part of a TLS error that does not contain addresses.
func tlsText(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// throttled returns the error of a call whose deadline is before the end of its throttle.
func throttled(request string) error {
	return kafka.NewError(kafka.CodeThrottlingQuotaExceeded, fmt.Sprintf("The brokers throttle this client: %s was not sent.", request))
}

// unsupported returns the error of a request that the broker does not support, or that can't be encoded.
func unsupported(request string, cause error) error {
	if strings.Contains(cause.Error(), "encoding") {
		return kafka.NewError(kafka.CodeInvalidRequest, fmt.Sprintf("%s can't be encoded: %v.", request, cause))
	}
	return kafka.NewError(kafka.CodeUnsupportedVersion, fmt.Sprintf("The broker does not support %s as this client needs it.", request))
}

// unregistered returns the error of a request to a node that no other node lists.
func (r *router) unregistered(id int32) error {
	return kafka.NewTransportError(fmt.Sprintf("%s %d is not registered, or fenced (%s)", r.kind, id, r.settings.addresses()), nil)
}

// noController returns the error of a request that only the controller can execute, if no node that answered was the controller.
func (r *router) noController() error {
	if r.kind == brokers {
		return kafka.NewError(kafka.CodeNotController, "")
	}
	return r.noLeader(nil)
}

// noLeader returns that error if these controllers answered in the last round that they do not lead. A bootstrap address and an address
// that the controllers registered may lead to the same one, so that only the larger number of the two is certain.
func (r *router) noLeader(follow []*node) error {
	among := func(nodes []*node) (count int) {
		for _, n := range nodes {
			if slices.Contains(follow, n) {
				count++
			}
		}
		return count
	}
	r.mu.Lock()
	certain := max(among(r.table), among(r.seeds))
	r.mu.Unlock()
	return kafka.NewNoLeaderError(certain, fmt.Sprintf("No controller that answered is the leader of the quorum (%s).",
		r.settings.addresses()))
}
