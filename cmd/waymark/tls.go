package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"sync/atomic"
)

// certificates are the files of a TLS server. They are read for each connection, so that a certificate is renewed without
// a restart; what cannot be read leaves the one before in place.
type certificates struct {
	cert, key, clientCA string
	read                func(path string) ([]byte, error)
	log                 *slog.Logger
	last                atomic.Pointer[tls.Config]
}

// config is that of the server, nil without certificate. It fails where the files cannot be used now.
func (c *certificates) config() (*tls.Config, error) {
	switch {
	case (c.cert == "") != (c.key == ""):
		return nil, usagef("--tls-cert and --tls-key go together")
	case c.cert == "" && c.clientCA != "":
		return nil, usagef("--tls-client-ca needs --tls-cert and --tls-key")
	case c.cert == "":
		return nil, nil
	}
	config, err := c.load()
	if err != nil {
		return nil, err
	}
	c.last.Store(config)
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		config, err := c.load()
		if err != nil { // perhaps one of the files is still being replaced
			c.log.Error("the new TLS certificate cannot be used; the one before stays", "error", err)
			return c.last.Load(), nil
		}
		c.last.Store(config)
		return config, nil
	}}, nil
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
	authorities, err := c.read(c.clientCA)
	if err != nil {
		return nil, fmt.Errorf("TLS client CA: %w", err)
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !config.ClientCAs.AppendCertsFromPEM(authorities) {
		return nil, fmt.Errorf("TLS client CA: %s holds no certificate", c.clientCA)
	}
	return config, nil
}
