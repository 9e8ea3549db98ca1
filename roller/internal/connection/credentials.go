package connection

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/kafka/credentials"
	"github.com/kafka-operators/kafka-operators/roller/internal/options"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// credentials returns the current credentials. By convention the Secrets of the Kafka cluster take precedence; the settings apply only if
// neither of them exists or did before, and the sets are not this project's cluster operator's, which makes both.
func (c *Connection) credentials(ctx context.Context, places []observe.Place) (credentials.Settings, credentials.Material, error) {
	if c.conventional() {
		settings := tls(c.Namespace, c.Cluster)
		secrets, err := readSecrets(ctx, c.Secrets, settings)
		if err != nil {
			return credentials.Settings{}, credentials.Material{}, err
		}
		c.named = c.named || len(secrets) > 0
		if c.named || ofOperator(places) { // whoever deletes both Secrets gets no login that was meant for others
			settings.ClientID = c.Kafka.ClientID
			m, err := credentials.Read(settings, secrets)
			return settings, m, err
		}
	}
	return material(ctx, c.Secrets, c.Kafka)
}

// ofOperator reports whether this project's cluster operator made a set.
func ofOperator(places []observe.Place) bool {
	return slices.ContainsFunc(places, func(p observe.Place) bool {
		return slices.ContainsFunc(p.Sets, func(s observe.PodSet) bool { return s.Everywhere })
	})
}

// material reads the Secrets and files that the options name, and returns the settings with the password from a file. The error lists all
// problems.
func material(ctx context.Context, secrets client.Reader, o options.KafkaOptions) (credentials.Settings, credentials.Material, error) {
	var errs []error
	file := func(name string) []byte {
		if name == "" {
			return nil
		}
		data, err := os.ReadFile(name)
		errs = append(errs, err)
		return data
	}
	settings := o.Settings
	if o.Files.Password != "" {
		settings = o.WithPassword(file(o.Files.Password))
	}
	entries, err := readSecrets(ctx, secrets, settings)
	errs = append(errs, err)
	trust, certificate, key := file(o.Files.CA), file(o.Files.Cert), file(o.Files.Key)
	if err := errors.Join(errs...); err != nil {
		return credentials.Settings{}, credentials.Material{}, err
	}
	m, err := credentials.Read(settings, entries)
	return settings, m.WithFiles(trust, certificate, key), err
}

// readSecrets reads the existing ones of the Secrets that the settings name.
func readSecrets(ctx context.Context, secrets client.Reader, settings credentials.Settings) (credentials.Secrets, error) {
	entries := credentials.Secrets{}
	var errs []error
	for _, name := range settings.SecretNames() {
		secret := &corev1.Secret{}
		err := secrets.Get(ctx, client.ObjectKey{Namespace: settings.SecretNamespace, Name: name}, secret)
		switch {
		case err == nil:
			entries[name] = secret.Data
		case !apierrors.IsNotFound(err):
			errs = append(errs, fmt.Errorf("read Secret %s in namespace %s (get must be allowed): %w", name, settings.SecretNamespace, err))
		}
	}
	return entries, errors.Join(errs...)
}

// identity is the roller's own certificate, and the Secret or file that it is from.
type identity struct {
	certificate *x509.Certificate
	where       string
}

// identityOf returns the certificate in use; its zero value if there is none.
func identityOf(settings credentials.Settings, m credentials.Material) identity {
	config := credentials.KafkaConfig(settings, m)
	if config.TLS == nil {
		return identity{}
	}
	block, _ := pem.Decode(config.TLS.Certificate)
	if block == nil {
		return identity{}
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil { // it was checked before
		return identity{}
	}
	if settings.TLS.IdentitySecret == "" {
		return identity{certificate, "a file"}
	}
	return identity{certificate, fmt.Sprintf("Secret %s in namespace %s", settings.TLS.IdentitySecret, settings.SecretNamespace)}
}

// check returns an error while the certificate is not valid: brokers reject the roller then, however healthy they are.
func (i identity) check(now time.Time) error {
	if i.certificate == nil || !now.Before(i.certificate.NotBefore) && !now.After(i.certificate.NotAfter) {
		return nil
	}
	return fmt.Errorf("the roller's own certificate in %s is valid only from %s to %s: renew it", i.where,
		i.certificate.NotBefore.UTC().Format(time.RFC3339), i.certificate.NotAfter.UTC().Format(time.RFC3339))
}
