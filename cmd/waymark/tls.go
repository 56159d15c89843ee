package main

import (
	"cmp"
	"crypto/tls"
	"fmt"
)

// tlsConfig is that of a server with a certificate, nil without. The files are read for each connection, so that a
// certificate is renewed without a restart; connections fail while the files do not fit each other.
func (a *app) tlsConfig(certFile, keyFile string) (*tls.Config, error) {
	switch {
	case (certFile == "") != (keyFile == ""):
		return nil, usagef("--tls-cert and --tls-key go together")
	case certFile == "":
		return nil, nil
	}
	load := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		cert, noCert := a.readFile(certFile)
		key, noKey := a.readFile(keyFile)
		pair, err := tls.X509KeyPair(cert, key)
		if err = cmp.Or(noCert, noKey, err); err != nil {
			return nil, fmt.Errorf("TLS certificate: %w", err)
		}
		return &pair, nil
	}
	_, err := load(nil)
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: load}, err
}
