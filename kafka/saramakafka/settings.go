package saramakafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/IBM/sarama"

	"github.com/kafka-operators/kafka-operators/kafka"
)

const (
	defaultDialTimeout    = 5 * time.Second
	defaultRequestTimeout = 40 * time.Second
	defaultNodeTimeout    = 10 * time.Second
	defaultClientID       = "kafka-operators"
)

// settings are a checked kafka.Config. They are immutable.
type settings struct {
	bootstrap      []string
	nodes          map[int32]string
	dial           func(ctx context.Context, network, address string) (net.Conn, error)
	clientID       string
	tls            *tls.Config
	login          *login
	sarama         *sarama.Config // copied for each connection
	dialTimeout    time.Duration
	requestTimeout time.Duration
	nodeTimeout    time.Duration
	observe        func(request string, took time.Duration, err error)
}

// newSettings checks cfg.
func newSettings(cfg kafka.Config) (*settings, error) {
	s := &settings{
		bootstrap:   slices.Clone(cfg.Bootstrap),
		nodes:       maps.Clone(cfg.Nodes),
		dial:        cfg.Dial,
		clientID:    cfg.ClientID,
		dialTimeout: cfg.DialTimeout, requestTimeout: cfg.RequestTimeout, nodeTimeout: cfg.NodeTimeout,
		observe: cfg.ObserveRequest,
	}
	if len(s.bootstrap) == 0 {
		return nil, errors.New("no bootstrap address")
	}
	for _, addr := range s.bootstrap {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return nil, fmt.Errorf("bootstrap address %q is not host:port: %w", addr, err)
		}
	}
	for id, addr := range s.nodes {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return nil, fmt.Errorf("address %q of node %d is not host:port: %w", addr, id, err)
		}
	}
	var err error
	if s.tls, err = tlsConfig(cfg.TLS); err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	if s.login, err = newLogin(cfg.SASL); err != nil {
		return nil, fmt.Errorf("sasl: %w", err)
	}
	if s.dial == nil {
		s.dial = new(net.Dialer).DialContext
	}
	if s.clientID == "" {
		s.clientID = defaultClientID
	}
	if s.dialTimeout <= 0 {
		s.dialTimeout = defaultDialTimeout
	}
	if s.requestTimeout <= 0 {
		s.requestTimeout = defaultRequestTimeout
	}
	if s.nodeTimeout <= 0 {
		s.nodeTimeout = defaultNodeTimeout
	}
	if s.observe == nil {
		s.observe = func(string, time.Duration, error) {}
	}
	s.sarama = saramaConfig(s.clientID)
	return s, s.validateSarama()
}

// saramaConfig returns the configuration that all connections share. It excludes TLS, because sarama gets an open stream.
func saramaConfig(clientID string) *sarama.Config {
	conf := sarama.NewConfig()
	conf.ClientID = clientID
	// An upper bound only: each request uses a version that the broker serves.
	conf.Version = sarama.MaxVersion
	conf.ApiVersionsRequest = true
	conf.Net.MaxOpenRequests = 1
	conf.Net.DialTimeout = socketTimeout
	conf.Net.ReadTimeout = socketTimeout
	conf.Net.WriteTimeout = socketTimeout
	conf.Net.Proxy.Enable = true
	return conf
}

// validateSarama checks at the start what sarama would otherwise reject at each connection.
func (s *settings) validateSarama() error {
	conf := *s.sarama
	if s.login != nil {
		s.login.apply(&conf, &conn{})
	}
	conf.Net.Proxy.Dialer = readyStream{}
	return conf.Validate()
}

// addresses formats the bootstrap addresses for messages.
func (s *settings) addresses() string { return "bootstrap " + strings.Join(s.bootstrap, ",") }
