// Package endpoint is the common part of the clients of model endpoints: connections, retries, the circuit breaker, and
// the protection of API keys.
package endpoint

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Errors of a connection that fails before any answer.
var (
	ErrRedirect = errors.New("endpoint redirects, which is not followed")
	ErrAddress  = errors.New("endpoint has an address that is not allowed")

	ErrAddressForm = errors.New("endpoint has an address that is not written in its usual form, as in 127.0.0.1 or [::1]")
)

// Dialer returns a dialer that checks addresses after they are resolved and before they are dialled. It never connects
// to link-local, shared, reserved and translated addresses, where clouds serve credentials, and to loopback and private
// ones only if allowPrivate is set.
func Dialer(timeout time.Duration, allowPrivate bool) *net.Dialer {
	return &net.Dialer{Timeout: timeout, Control: func(_, address string, _ syscall.RawConn) error {
		a, err := netip.ParseAddrPort(address)
		if err != nil || !allowed(a.Addr(), allowPrivate) {
			return ErrAddress
		}
		return nil
	}}
}

// CheckHost rejects a host that is an address to which no connection is made, or a number in a form that programs read
// differently: decimal, octal, hexadecimal, or with parts left out. A name is checked when it is dialled.
func CheckHost(host string, allowPrivate bool) error {
	if a, err := netip.ParseAddr(host); err == nil {
		if !allowed(a, allowPrivate) {
			return ErrAddress
		}
		return nil
	}
	last := host[strings.LastIndexByte(strings.TrimSuffix(host, "."), '.')+1:]
	if _, err := strconv.ParseUint(strings.TrimSuffix(last, "."), 0, 64); err == nil { // no top-level domain is a number
		return ErrAddressForm
	}
	return nil
}

// HTTPClient returns a client that follows no redirect, uses no proxy (a proxy would resolve names outside of this
// check), reads answers up to maxAnswer bytes, and connects with [Dialer]. timeout is for connecting.
func HTTPClient(timeout time.Duration, maxAnswer int64, allowPrivate bool) *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return ErrRedirect },
		Transport: limited{maxAnswer, &http.Transport{
			DialContext: Dialer(timeout, allowPrivate).DialContext, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 4,
			IdleConnTimeout: time.Minute, TLSHandshakeTimeout: timeout, MaxResponseHeaderBytes: 64 << 10,
		}},
	}
}

// limited is a transport whose answers end in an error after a number of bytes.
type limited struct {
	bytes int64
	to    http.RoundTripper
}

// RoundTrip keeps the closer of the body, which returns the connection to the pool.
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := l.to.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{http.MaxBytesReader(nil, answer.Body, l.bytes), answer.Body}
	}
	return answer, err
}

// reserved are networks that no endpoint has, although the standard library classifies them as global: shared addresses
// (one cloud's metadata service), protocol assignments (another's), benchmarks, the former class E, and IPv6 forms that
// carry an IPv4 address past a filter (translated, 6to4, Teredo, compatible).
var reserved = func() (nets []netip.Prefix) {
	for _, text := range strings.Fields("0.0.0.0/8 100.64.0.0/10 192.0.0.0/24 198.18.0.0/15 240.0.0.0/4 " +
		"64:ff9b::/96 64:ff9b:1::/48 2002::/16 2001::/32 ::/96") {
		nets = append(nets, netip.MustParsePrefix(text))
	}
	return nets
}()

// allowed checks the address that is dialled, after names were resolved, because a name may resolve to any address.
// Link-local addresses, which metadata services of clouds have, are refused even if private ones are allowed.
func allowed(a netip.Addr, private bool) bool {
	if a = a.Unmap(); a.IsLoopback() { // ::1 is within a reserved network
		return private && a.Zone() == ""
	}
	if a.IsUnspecified() || a.IsMulticast() || a.IsLinkLocalUnicast() || a.Zone() != "" {
		return false
	}
	// Metadata services within the private range and among public addresses.
	if a == netip.MustParseAddr("fd00:ec2::254") || a == netip.MustParseAddr("168.63.129.16") {
		return false
	}
	within := func(p netip.Prefix) bool { return p.Contains(a) }
	return !slices.ContainsFunc(reserved, within) && (private || !a.IsPrivate())
}
