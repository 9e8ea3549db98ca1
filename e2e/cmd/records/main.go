// Command records writes records to a topic and reads them, as an ordinary client, and prints their numbers each second. The demo of the
// cluster operator shows its output.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/kafka-operators/kafka-operators/e2e/traffic"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "records: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	bootstrap := flag.String("bootstrap", "localhost:9093", "a broker's address")
	topic := flag.String("topic", "orders", "the topic, which exists")
	authorities := flag.String("ca", ".",
		"the folder with the certificates (*.crt) of the CAs that brokers' certificates may be of; it is read at each connection")
	flag.Parse()
	flow, err := traffic.Start(ctx, traffic.Options{
		Bootstrap: []string{*bootstrap}, TLS: &tls.Config{MinVersion: tls.VersionTLS12},
		Authorities: func() (*x509.CertPool, error) { return trusted(*authorities) },
		Topic:       *topic, Group: *topic + "-readers", Every: 50 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			p := flow.Progress()
			fmt.Printf("%d records acknowledged by all replicas, %d refused, %d read\n", p.Acknowledged, p.Refused, p.Read)
		}
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return flow.Stop(limited).Err()
}

// trusted returns the certificates in a folder.
func trusted(folder string) (*x509.CertPool, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.crt"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	for _, file := range files {
		certificate, err := os.ReadFile(file) // the folder that the user names
		if err != nil {
			return nil, err
		}
		if !pool.AppendCertsFromPEM(certificate) {
			return nil, fmt.Errorf("%s holds no certificate", file)
		}
	}
	return pool, nil
}
