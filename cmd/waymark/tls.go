package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// certificates are the files of a TLS server. They are read again, once a second at most, so that a certificate is
// renewed without a restart; what cannot be read leaves the one before in place.
type certificates struct {
	cert, key, clientCA string
	read                func(path string) ([]byte, error)
	log                 *slog.Logger

	mu      sync.Mutex
	looked  time.Time
	current *tls.Config
}

// given reports whether TLS is asked for, and what is missing.
func (c *certificates) given() (bool, error) {
	switch {
	case (c.cert == "") != (c.key == ""):
		return false, usagef("--tls-cert and --tls-key go together")
	case c.cert == "" && c.clientCA != "":
		return false, usagef("--tls-client-ca needs --tls-cert and --tls-key")
	}
	return c.cert != "", nil
}

// config is that of the server. It fails where the files cannot be used now.
func (c *certificates) config() (*tls.Config, error) {
	config, err := c.load()
	if err != nil {
		return nil, err
	}
	c.current = config
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.latest(), nil }}, nil
}

// latest is the configuration of the files as they are, read once a second at most.
func (c *certificates) latest() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) < time.Second {
		return c.current
	}
	c.looked = time.Now()
	config, err := c.load()
	if err != nil { // perhaps one of the files is still being replaced
		c.log.Error("the new TLS certificate cannot be used; the one before stays", "error", err)
		return c.current
	}
	c.current = config
	return c.current
}

func (c *certificates) load() (*tls.Config, error) {
	cert, err := c.read(c.cert)
	if err != nil {
		return nil, fmt.Errorf("TLS certificate: %w", err)
	}
	key, err := c.read(c.key)
	if err != nil {
		return nil, fmt.Errorf("TLS key: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("TLS certificate: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}}
	if c.clientCA == "" {
		return config, nil
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	return config, c.addCA(config.ClientCAs)
}

// addCA adds the certificates of the CAs of clients.
func (c *certificates) addCA(to *x509.CertPool) error {
	text, err := c.read(c.clientCA)
	if err != nil {
		return fmt.Errorf("TLS client CA: %w", err)
	}
	if !to.AppendCertsFromPEM(text) {
		return fmt.Errorf("TLS client CA: %s holds no certificate", c.clientCA)
	}
	return nil
}
