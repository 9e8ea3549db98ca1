package saramakafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/IBM/sarama"
	"github.com/xdg-go/scram"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// login contains the credentials for the connections of a session.
type login struct {
	mechanism          kafka.SASLMechanism
	username, password string
	scram              *scram.Client
	token              func(context.Context) (string, map[string]string, error)
}

// newLogin checks the port's login, or returns nil for none. All connections of a session share the SCRAM client, which caches the salted
// password, because computing that is what makes SCRAM slow.
func newLogin(cfg *kafka.SASL) (*login, error) {
	if cfg == nil {
		return nil, nil
	}
	l := &login{mechanism: cfg.Mechanism, username: cfg.Username, password: cfg.Password, token: cfg.Token}
	var err error
	switch cfg.Mechanism { // Kafka, unlike RFC 5802, takes the bytes of names and passwords as they are
	case kafka.SASLPlain:
	case kafka.SASLScramSHA256:
		l.scram, err = scram.SHA256.NewClientUnprepped(cfg.Username, cfg.Password, "")
	case kafka.SASLScramSHA512:
		l.scram, err = scram.SHA512.NewClientUnprepped(cfg.Username, cfg.Password, "")
	case kafka.SASLOAuthBearer:
		if cfg.Token == nil {
			return nil, errors.New("OAUTHBEARER needs a source of tokens")
		}
		return l, nil
	default:
		return nil, fmt.Errorf("unknown SASL mechanism %q: want PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER", cfg.Mechanism)
	}
	if err != nil {
		return nil, fmt.Errorf("the username or password cannot be used with %s: %w", cfg.Mechanism, err)
	}
	if cfg.Username == "" || cfg.Password == "" {
		return nil, fmt.Errorf("%s needs a username and a password", cfg.Mechanism)
	}
	return l, nil
}

// apply writes the login into the configuration of one connection.
func (l *login) apply(conf *sarama.Config, tokens sarama.AccessTokenProvider) {
	conf.Net.SASL.Enable = true
	conf.Net.SASL.Mechanism = sarama.SASLMechanism(l.mechanism)
	conf.Net.SASL.User, conf.Net.SASL.Password = l.username, l.password
	switch {
	case l.scram != nil:
		conf.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &scramConversation{client: l.scram} }
	case l.token != nil:
		conf.Net.SASL.TokenProvider = tokens
	}
}

// scramConversation is sarama's view of one SCRAM exchange.
type scramConversation struct {
	client       *scram.Client
	conversation *scram.ClientConversation
}

// Begin implements sarama.SCRAMClient. The credentials are those of the client.
func (s *scramConversation) Begin(_, _, _ string) error {
	s.conversation = s.client.NewConversation()
	return nil
}

// Step implements sarama.SCRAMClient.
func (s *scramConversation) Step(challenge string) (string, error) {
	response, err := s.conversation.Step(challenge)
	if err != nil {
		return "", &loginRefused{err}
	}
	return response, nil
}

// Done implements sarama.SCRAMClient.
func (s *scramConversation) Done() bool { return s.conversation.Done() }

// loginRefused marks an error of the login itself, on either side.
type loginRefused struct{ cause error }

func (e *loginRefused) Error() string { return e.cause.Error() }
func (e *loginRefused) Unwrap() error { return e.cause }

// tokenFailed marks an error of the source of tokens.
type tokenFailed struct{ cause error }

func (e *tokenFailed) Error() string { return "no OAUTHBEARER token: " + e.cause.Error() }
func (e *tokenFailed) Unwrap() error { return e.cause }

// Token implements sarama.AccessTokenProvider for one connection: at its opening, and when the broker requests a renewal of the session
// (KIP-368). It returns when the present call ends, even if the source of tokens does not.
func (c *conn) Token() (*sarama.AccessToken, error) {
	type answer struct {
		token *sarama.AccessToken
		err   error
	}
	answers := make(chan answer, 1)
	ctx := c.call
	go func() {
		token, extensions, err := c.login.token(ctx)
		if err != nil {
			answers <- answer{err: &tokenFailed{err}}
			return
		}
		answers <- answer{token: &sarama.AccessToken{Token: token, Extensions: extensions}}
	}()
	select {
	case a := <-answers:
		return a.token, a.err
	case <-ctx.Done():
		return nil, &tokenFailed{context.Cause(ctx)}
	}
}
