package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// certify writes a certificate that signs itself, and its key.
func certify(t *testing.T, dir string, serial int64) (cert, key string) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	as := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, as, as, &private.PublicKey, private)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	return cert, key
}

// A server with a certificate speaks TLS and reads a renewed one, and
// commands of this machine go on as before.
func TestServeTLS(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	says(t, 0, "keys", "create", "--name", "k", "--data", data)
	dir := t.TempDir()
	cert, key := certify(t, dir, 1)
	s := startServer(t, data, "--tls-cert", cert, "--tls-key", key)
	require.Contains(t, s.URLs.API, "https://")
	serial := func() (int64, error) {
		transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
		resp, err := (&http.Client{Transport: transport}).Get(s.URLs.API + "/stats")
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		assert.Equal(t, http.StatusUnauthorized, resp.StatusCode, "a key is needed beside the certificate")
		return resp.TLS.PeerCertificates[0].SerialNumber.Int64(), nil
	}
	n, err := serial()
	require.NoError(t, err)
	assert.EqualValues(t, 1, n)
	certify(t, dir, 2)
	require.Eventually(t, func() bool { n, err := serial(); return err == nil && n == 2 }, 2*time.Minute, 50*time.Millisecond)
	out, _ := says(t, 0, "keys", "list", "--data", data)
	assert.NotEmpty(t, out)

	_, errs := says(t, 2, "serve", "--tls-cert", cert, "--data", filepath.Join(t.TempDir(), "other"))
	assert.Contains(t, errs, "--tls-cert and --tls-key go together")
}
