package saramakafka_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/credentials"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

func TestLogins(t *testing.T) {
	for _, mechanism := range []kafka.SASLMechanism{kafka.SASLPlain, kafka.SASLScramSHA256, kafka.SASLScramSHA512} {
		t.Run(string(mechanism), func(t *testing.T) {
			noLeaks(t)
			e := embed(t, kafkatest.Options{Brokers: 2, Users: []kafkatest.User{{Name: "user", Password: "p,ä=ss", Mechanism: mechanism,
				Super: true}}})
			cfg := quick(e)
			cfg.SASL = &kafka.SASL{Mechanism: mechanism, Username: "user", Password: "p,ä=ss"}
			works(t, connect(t, cfg), "x")
			refused(t, cfg, func(s *kafka.SASL) { s.Password = "wrong" })
			refused(t, cfg, func(s *kafka.SASL) { s.Username = "nobody" })
		})
	}
}

// unpreparedName and unprepared are a name and passwords that SASLprep (RFC 4013) would change or forbid. Kafka takes them as they are.
// It allows names in ASCII only.
const unpreparedName = "al\tice"

var unprepared = []string{"x\tq", "pa\u00a0ss", "ªbc", "ab\u00adc", "ﬁt", "😀pw", "שלום1"}

func TestLoginsWithAnyCharacters(t *testing.T) {
	for _, mechanism := range []kafka.SASLMechanism{kafka.SASLScramSHA256, kafka.SASLScramSHA512} {
		for _, password := range unprepared {
			user := kafkatest.User{Name: unpreparedName, Password: password, Mechanism: mechanism, Super: true}
			cfg := quick(embed(t, kafkatest.Options{Users: []kafkatest.User{user}}))
			cfg.SASL = &kafka.SASL{Mechanism: mechanism, Username: user.Name, Password: password}
			a, err := saramakafka.New(cfg)
			if err != nil {
				t.Errorf("%s, %q: %v", mechanism, password, err)
				continue
			}
			t.Cleanup(a.Close)
			if _, err := a.ListTopics(within(t, patience)); err != nil {
				t.Errorf("%s, %q: %v", mechanism, password, err)
			}
		}
	}
}

// refused checks that a login fails at once, with an error that names what to check.
func refused(t *testing.T, cfg kafka.Config, change func(*kafka.SASL)) {
	t.Helper()
	login := *cfg.SASL
	change(&login)
	cfg.SASL = &login
	start := time.Now()
	_, err := connect(t, cfg).ListTopics(within(t, patience))
	var e *kafka.Error
	if !errors.As(err, &e) || e.Class != kafka.ClassAuthentication || e.Name != "SaslAuthenticationException" {
		t.Errorf("got %v of class %d", err, kafka.ClassOf(err))
		return
	}
	for _, word := range []string{"password", string(login.Mechanism), strings.Join(cfg.Bootstrap, ",")} {
		if !strings.Contains(e.Message, word) {
			t.Errorf("the message does not name %q: %s", word, e.Message)
		}
	}
	if strings.Contains(e.Message, login.Password) {
		t.Errorf("the message shows the password: %s", e.Message)
	}
	if took := time.Since(start); took > patience/2 {
		t.Errorf("it was tried until the end: %s", took)
	}
}

// TestALoginThatBrokersCutOff covers brokers that close the connection without an error.
func TestALoginThatBrokersCutOff(t *testing.T) {
	e := embed(t, kafkatest.Options{Brokers: 2, Users: []kafkatest.User{{Name: "u", Password: "p", Mechanism: kafka.SASLPlain, Super: true}}})
	cfg := quick(e)
	cfg.SASL = plain("u", "p")
	cut := e.Inject(kafkatest.Fault{Requests: []string{"SASLAuthenticate"}, Drop: true})
	a := connect(t, cfg)
	if _, err := a.ListTopics(within(t, patience)); kafka.ClassOf(err) != kafka.ClassAuthentication {
		t.Errorf("got %v of class %d", err, kafka.ClassOf(err))
	}
	cut.Remove()
	e.Inject(kafkatest.Fault{Requests: []string{"SASLAuthenticate"}, Drop: true, Count: 1})
	if _, err := a.ListTopics(within(t, patience)); err != nil {
		t.Errorf("one broker that goes down during a login is not a refusal: %v", err)
	}
}

func TestAMechanismThatBrokersLack(t *testing.T) {
	e := embed(t, kafkatest.Options{Users: []kafkatest.User{{Name: "u", Password: "p", Mechanism: kafka.SASLPlain}}})
	cfg := quick(e)
	cfg.SASL = &kafka.SASL{Mechanism: kafka.SASLOAuthBearer,
		Token: func(context.Context) (string, map[string]string, error) { return "t", nil, nil }}
	if _, err := connect(t, cfg).ListTopics(within(t, patience)); kafka.ClassOf(err) != kafka.ClassAuthentication {
		t.Errorf("got %v of class %d", err, kafka.ClassOf(err))
	}
}

func TestTokens(t *testing.T) {
	noLeaks(t)
	e := embed(t, kafkatest.Options{
		Brokers: 2, Tokens: map[string]string{"good": "u"},
		Users: []kafkatest.User{{Name: "u", Password: "p", Mechanism: kafka.SASLPlain, Super: true}},
	})
	source := func(token func(context.Context) (string, map[string]string, error)) kafka.Admin {
		cfg := quick(e)
		cfg.SASL = &kafka.SASL{Mechanism: kafka.SASLOAuthBearer, Token: token}
		return connect(t, cfg)
	}
	works(t, source(func(context.Context) (string, map[string]string, error) {
		return "good", map[string]string{"tenant": "a"}, nil
	}), "x")

	_, err := source(func(context.Context) (string, map[string]string, error) { return "bad", nil, nil }).ListTopics(within(t, patience))
	if kafka.ClassOf(err) != kafka.ClassAuthentication || !strings.Contains(err.Error(), "OAUTHBEARER token") {
		t.Errorf("a bad token: got %v", err)
	}
	down := errors.New("the server of tokens is away")
	ctx := endable(t)
	var asked atomic.Int32
	_, err = source(func(context.Context) (string, map[string]string, error) {
		if asked.Add(1) > 2 { // a call continues until its context ends
			ctx.end()
		}
		return "", nil, down
	}).ListTopics(ctx)
	if kafka.ClassOf(err) != kafka.ClassRetriable || !errors.Is(err, down) || !strings.Contains(err.Error(), "no OAUTHBEARER token") {
		t.Errorf("no token: got %v", err)
	}
	refusal := &kafka.Error{Name: "OAuthException", Message: "unknown client", Class: kafka.ClassAuthentication}
	_, err = source(func(context.Context) (string, map[string]string, error) { return "", nil, refusal }).ListTopics(within(t, patience))
	if !errors.Is(err, refusal) {
		t.Errorf("a source that knows better: got %v", err)
	}
	ctx = endable(t)
	release := make(chan struct{})
	answer := make(chan error, 1)
	hangs := source(func(context.Context) (string, map[string]string, error) { ctx.end(); <-release; return "", nil, down })
	go func() {
		_, err := hangs.ListTopics(ctx)
		answer <- err
	}()
	select {
	case err := <-answer:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a source that hangs: got %v", err)
		}
	case <-time.After(patience):
		t.Error("a source that hangs: the call does too")
	}
	close(release)
}

// TestATokenServerThatRefuses checks that a wrong client secret ends a call as a wrong password does, with the server's own words.
func TestATokenServerThatRefuses(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":"invalid_client","error_description":"wrong secret"}`))
	}))
	t.Cleanup(server.Close)
	e := embed(t, kafkatest.Options{
		Brokers: 3, Tokens: map[string]string{"good": "u"},
		Users: []kafkatest.User{{Name: "u", Password: "p", Mechanism: kafka.SASLPlain, Super: true}},
	})
	login := credentials.Settings{
		Bootstrap: e.Bootstrap(), Protocol: credentials.ProtocolSASLPlaintext,
		SASL: credentials.SASL{Mechanism: kafka.SASLOAuthBearer, Secret: "login", OAuth: &credentials.OAuth{TokenEndpoint: server.URL}},
	}
	material, err := credentials.Read(login, credentials.Secrets{"login": {"client-id": []byte("u"), "client-secret": []byte("hidden")}})
	if err != nil {
		t.Fatal(err)
	}
	trust := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	cfg := credentials.KafkaConfig(login, material.WithFiles(trust, nil, nil))
	_, err = connect(t, cfg).ListTopics(within(t, patience))
	if kafka.ClassOf(err) != kafka.ClassAuthentication || !strings.Contains(err.Error(), "HTTP status 401 invalid_client wrong secret") {
		t.Errorf("got %v of class %d", err, kafka.ClassOf(err))
	}
	if n := asked.Load(); n > 3 {
		t.Errorf("one call asked the server %d times", n)
	}
}

// TestALoginThatExpires checks that the login is renewed before a raw request too, of which sarama does not know (KIP-368).
func TestALoginThatExpires(t *testing.T) {
	const lifetime = 400 * time.Millisecond
	e := embedFronted(t, kafkatest.Options{Reauthenticate: lifetime,
		Users: []kafkatest.User{{Name: "u", Password: "p", Mechanism: kafka.SASLScramSHA256, Super: true}}})
	cfg := e.config()
	cfg.SASL = &kafka.SASL{Mechanism: kafka.SASLScramSHA256, Username: "u", Password: "p"}
	a := connect(t, cfg)
	logins := e.Inject(kafkatest.Fault{Requests: []string{"SASLHandshake"}})
	until(t, "a login was renewed by a raw request on its connection", func() bool {
		if _, err := a.ListReassignments(within(t, patience), nil); err != nil {
			t.Fatal(err)
		}
		return logins.Hits() > e.proxies[0].accepted() // each connection begins with one
	})
}

func TestReconfigure(t *testing.T) {
	noLeaks(t)
	e := embed(t, kafkatest.Options{Brokers: 2, Users: []kafkatest.User{
		{Name: "old", Password: "p", Mechanism: kafka.SASLPlain, Super: true},
		{Name: "new", Password: "q", Mechanism: kafka.SASLScramSHA512, Super: true},
	}})
	cfg := quick(e)
	cfg.SASL = plain("old", "p")
	a := connect(t, cfg)
	works(t, a, "before")

	// A call in flight finishes on its connection.
	slow := e.Inject(kafkatest.Fault{Requests: []string{"CreateTopics"}, Delay: time.Hour, Count: 1})
	answer := make(chan error, 1)
	go func() {
		results, err := a.CreateTopics(t.Context(), []kafka.NewTopic{{Name: "in-flight", Partitions: 1, ReplicationFactor: 1}}, false)
		answer <- errors.Join(err, results["in-flight"].Err)
	}()
	if err := slow.Wait(within(t, patience), 1); err != nil {
		t.Fatal(err)
	}
	cfg.SASL = &kafka.SASL{Mechanism: kafka.SASLScramSHA512, Username: "new", Password: "q"}
	if err := a.Reconfigure(cfg); err != nil {
		t.Fatal(err)
	}
	slow.Remove()
	if err := <-answer; err != nil {
		t.Errorf("the call in flight: %v", err)
	}
	works(t, a, "after")

	bad := cfg
	bad.SASL = &kafka.SASL{Mechanism: "KERBEROS"}
	if err := a.Reconfigure(bad); err == nil {
		t.Error("nonsense was accepted")
	}
	works(t, a, "still")

	cfg.SASL = plain("old", "wrong")
	if err := a.Reconfigure(cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := a.ListTopics(within(t, patience)); kafka.ClassOf(err) != kafka.ClassAuthentication {
		t.Errorf("the old connections are still in use: %v", err)
	}
}

func TestConfigurationsThatCannotWork(t *testing.T) {
	for name, cfg := range map[string]kafka.Config{
		"no address":      {},
		"no port":         {Bootstrap: []string{"localhost"}},
		"no certificates": {Bootstrap: []string{"a:1"}, TLS: &kafka.TLS{TrustedCertificates: []byte("x")}},
		"half a pair":     {Bootstrap: []string{"a:1"}, TLS: &kafka.TLS{Certificate: []byte("x")}},
		"no pair":         {Bootstrap: []string{"a:1"}, TLS: &kafka.TLS{Certificate: []byte("x"), Key: []byte("x")}},
		"no mechanism":    {Bootstrap: []string{"a:1"}, SASL: &kafka.SASL{Username: "u", Password: "p"}},
		"no password":     {Bootstrap: []string{"a:1"}, SASL: plain("u", "")},
		"no username":     {Bootstrap: []string{"a:1"}, SASL: &kafka.SASL{Mechanism: kafka.SASLScramSHA512, Password: "p"}},
		"no token":        {Bootstrap: []string{"a:1"}, SASL: &kafka.SASL{Mechanism: kafka.SASLOAuthBearer}},
	} {
		if _, err := saramakafka.New(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// pki is a certificate authority with a server's and a client's certificate.
type pki struct {
	authority      *realkafka.Authority
	server, client realkafka.Certificate
}

func newPKI(t *testing.T) pki {
	t.Helper()
	authority, err := realkafka.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	server, err := authority.Issue("server")
	if err != nil {
		t.Fatal(err)
	}
	client, err := authority.Issue("client")
	if err != nil {
		t.Fatal(err)
	}
	return pki{authority, server, client}
}

func (p pki) serverConfig(t *testing.T, auth tls.ClientAuthType) *tls.Config {
	t.Helper()
	pair, err := tls.X509KeyPair(p.server.Cert, p.server.Key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(p.authority.PEM())
	return &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: auth}
}

func TestTLS(t *testing.T) {
	noLeaks(t)
	ours, theirs := newPKI(t), newPKI(t)
	open := embed(t, kafkatest.Options{Brokers: 2, TLS: ours.serverConfig(t, tls.NoClientCert)})
	mutual := embed(t, kafkatest.Options{
		Brokers: 2, TLS: ours.serverConfig(t, tls.RequireAndVerifyClientCert),
		Users: []kafkatest.User{{Name: "u", Password: "p", Mechanism: kafka.SASLPlain, Super: true}},
	})
	unencrypted := embed(t, kafkatest.Options{})
	trust := ours.authority.PEM()
	for _, c := range []struct {
		name    string
		cluster *kafkatest.Embedded
		tls     *kafka.TLS
		works   bool
	}{
		{"trusted", open, &kafka.TLS{TrustedCertificates: trust}, true},
		{"trusted, any name", open, &kafka.TLS{TrustedCertificates: trust, SkipHostnameVerification: true}, true},
		{"untrusted", open, &kafka.TLS{TrustedCertificates: theirs.authority.PEM()}, false},
		{"untrusted, any name", open, &kafka.TLS{TrustedCertificates: theirs.authority.PEM(), SkipHostnameVerification: true}, false},
		{"not trusted by the system", open, &kafka.TLS{}, false},
		{"mutual", mutual, &kafka.TLS{TrustedCertificates: trust, Certificate: ours.client.Cert, Key: ours.client.Key}, true},
		{"mutual, no certificate", mutual, &kafka.TLS{TrustedCertificates: trust}, false},
		{"mutual, foreign certificate", mutual, &kafka.TLS{TrustedCertificates: trust, Certificate: theirs.client.Cert,
			Key: theirs.client.Key}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := quick(c.cluster)
			cfg.TLS = c.tls
			if c.cluster == mutual {
				cfg.SASL = plain("u", "p")
			}
			a := connect(t, cfg)
			if c.works {
				works(t, a, "x")
				return
			}
			_, err := a.ListTopics(within(t, patience))
			var e *kafka.Error
			if !errors.As(err, &e) || e.Class != kafka.ClassAuthentication || e.Name != "SslAuthenticationException" ||
				!strings.Contains(e.Message, "check the trusted certificates") {
				t.Errorf("got %v", err)
			}
			if failure := kafka.TLSFailureOf(err); (failure == kafka.TLSNoCertificate) != (c.name == "mutual, no certificate") {
				t.Errorf("got failure %d", failure)
			}
		})
	}
	t.Run("mutual, expired certificate", func(t *testing.T) {
		expired, err := ours.authority.IssueExpired("client")
		if err != nil {
			t.Fatal(err)
		}
		for client, want := range map[*realkafka.Certificate]kafka.TLSFailure{&expired: kafka.TLSOwnExpired, &theirs.client: kafka.TLSAlert} {
			cfg := quick(mutual)
			cfg.TLS, cfg.SASL = &kafka.TLS{TrustedCertificates: trust, Certificate: client.Cert, Key: client.Key}, plain("u", "p")
			_, err := connect(t, cfg).ListTopics(within(t, patience))
			own := strings.Contains(fmt.Sprint(err), "; the client certificate is valid only from ")
			if kafka.TLSFailureOf(err) != want || own != (want == kafka.TLSOwnExpired) {
				t.Errorf("got %v", err)
			}
		}
	})
	t.Run("a listener without TLS", func(t *testing.T) {
		cfg := quick(unencrypted)
		cfg.TLS = &kafka.TLS{TrustedCertificates: trust}
		if _, err := connect(t, cfg).ListTopics(within(t, 500*time.Millisecond)); err == nil {
			t.Error("got an answer")
		}
	})
}

// issued returns the certificate of a server that is valid at these times, relative to now, and that of its CA.
func issued(t *testing.T, from, to, caTo time.Duration) (server tls.Certificate, authority []byte) {
	t.Helper()
	now := time.Now()
	template := func(name string, from, to time.Duration) *x509.Certificate {
		return &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(from),
			NotAfter: now.Add(to), DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}}
	}
	ca := template("our CA", -100*time.Hour, caTo)
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template("server", from, to), ca, key.Public(), caKey)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER})
}

// Only a server's own certificate that is past its end is expired for all clients: Java does not check the times of a CA that it trusts,
// and a certificate that is not valid yet may be so by our clock alone.
func TestAnExpiredCertificateIsTheServersOwn(t *testing.T) {
	for name, c := range map[string]struct {
		from, to, caTo time.Duration
		want           kafka.TLSFailure
		says           string
	}{
		"its own":            {-2 * time.Hour, -time.Hour, time.Hour, kafka.TLSExpired, "check the trusted certificates"},
		"its own and its CA": {-2 * time.Hour, -time.Hour, -time.Hour, kafka.TLSExpired, "check the trusted certificates"},
		"its CA alone": {-2 * time.Hour, time.Hour, -time.Hour, kafka.TLSUntrusted,
			"the certificate of the CA CN=our CA is valid only from "},
		"not valid yet": {time.Hour, 2 * time.Hour, time.Hour, kafka.TLSUntrusted, "check this machine's clock"},
	} {
		for _, anyName := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				server, trust := issued(t, c.from, c.to, c.caTo)
				cfg := quick(embed(t, kafkatest.Options{TLS: &tls.Config{Certificates: []tls.Certificate{server}}}))
				cfg.TLS = &kafka.TLS{TrustedCertificates: trust, SkipHostnameVerification: anyName}
				_, err := connect(t, cfg).ListTopics(within(t, patience))
				if got := kafka.TLSFailureOf(err); got != c.want || !strings.Contains(fmt.Sprint(err), c.says) {
					t.Errorf("got %d, %v", got, err)
				}
			})
		}
	}
}

func TestAServerOfAnotherName(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"elsewhere"}, IsCA: true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	e := embed(t, kafkatest.Options{TLS: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}})
	cfg := quick(e)
	cfg.TLS = &kafka.TLS{TrustedCertificates: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
	if _, err := connect(t, cfg).ListTopics(within(t, patience)); kafka.ClassOf(err) != kafka.ClassAuthentication {
		t.Errorf("got %v", err)
	}
	cfg.TLS.SkipHostnameVerification = true
	if _, err := connect(t, cfg).ListTopics(within(t, patience)); err != nil {
		t.Error(err)
	}
}
