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

// certify writes a certificate of a CA, or one that signs itself, and its key.
func certify(t *testing.T, dir string, serial int64, ca ...tls.Certificate) (cert, key string, pair tls.Certificate) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	as := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	parent, signer := as, private
	if len(ca) > 0 {
		as.IsCA, as.KeyUsage = false, x509.KeyUsageDigitalSignature
		parent, signer = ca[0].Leaf, ca[0].PrivateKey.(*ecdsa.PrivateKey)
	}
	der, err := x509.CreateCertificate(rand.Reader, as, parent, &private.PublicKey, signer)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	pair, err = tls.LoadX509KeyPair(cert, key)
	require.NoError(t, err)
	return cert, key, pair
}

// A server with a certificate speaks TLS and reads a renewed one; clients need a certificate where a CA is named, and
// commands of this machine go on as before.
func TestServeTLS(t *testing.T) {
	data, ca := filepath.Join(t.TempDir(), "data"), t.TempDir()
	says(t, 0, "keys", "create", "--name", "k", "--data", data)
	dir := t.TempDir()
	cert, key, _ := certify(t, dir, 1)
	clientCA, _, client := certify(t, ca, 9)
	s := startServer(t, data, "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", clientCA)
	require.Contains(t, s.URLs.API, "https://")
	serial := func(own ...tls.Certificate) (int64, error) {
		transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: own}, DisableKeepAlives: true}
		resp, err := (&http.Client{Transport: transport}).Get(s.URLs.API + "/stats")
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		assert.Equal(t, http.StatusUnauthorized, resp.StatusCode, "a key is needed beside the certificate")
		return resp.TLS.PeerCertificates[0].SerialNumber.Int64(), nil
	}
	_, err := serial()
	require.Error(t, err, "no certificate of the CA")
	n, err := serial(client)
	require.NoError(t, err)
	assert.EqualValues(t, 1, n)
	certify(t, dir, 2)
	require.Eventually(t, func() bool { n, err := serial(client); return err == nil && n == 2 }, 2*time.Minute, 50*time.Millisecond)
	out, _ := says(t, 0, "keys", "list", "--data", data)
	assert.NotEmpty(t, out)

	_, errs := says(t, 2, "serve", "--tls-cert", cert, "--data", filepath.Join(t.TempDir(), "other"))
	assert.Contains(t, errs, "--tls-cert and --tls-key go together")
}
