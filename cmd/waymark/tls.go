package main

import (
	"crypto/tls"
	"fmt"
	"sync/atomic"
)

// tlsConfig returns the configuration of a server with a certificate, or nil without one. It reads the files for each
// connection, so that a certificate is renewed without a restart; if they cannot be used, the previous certificate
// stays.
func (a *app) tlsConfig(certFile, keyFile string) (*tls.Config, error) {
	switch {
	case (certFile == "") != (keyFile == ""):
		return nil, usagef("--tls-cert and --tls-key go together")
	case certFile == "":
		return nil, nil
	}
	var last atomic.Pointer[tls.Certificate]
	load := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		var key []byte
		var pair tls.Certificate
		cert, err := a.readFile(certFile)
		if err == nil {
			key, err = a.readFile(keyFile)
		}
		if err == nil {
			pair, err = tls.X509KeyPair(cert, key)
		}
		switch {
		case err == nil:
			last.Store(&pair)
		case last.Load() == nil:
			return nil, fmt.Errorf("TLS certificate: %w", err)
		default: // perhaps one of the files is still being replaced
			a.logger().Error("the new TLS certificate cannot be used; the one before stays", "error", err)
		}
		return last.Load(), nil
	}
	_, err := load(nil)
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: load}, err
}
