package embed

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

var (
	errRedirect = errors.New("endpoint redirects, which is not followed")
	errAddress  = errors.New("endpoint has an address that is not allowed")
)

// httpClient follows no redirect, uses no proxy (a proxy would resolve names behind our back), reads
// answers up to a limit, and looks at addresses after they are resolved and before they are dialled.
func httpClient(o *Options) *http.Client {
	dialer := &net.Dialer{Timeout: o.Timeout, Control: func(_, address string, _ syscall.RawConn) error {
		a, err := netip.ParseAddrPort(address)
		if err != nil || !allowed(a.Addr(), o.AllowPrivate) {
			return errAddress
		}
		return nil
	}}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect },
		Transport: limited{o.MaxAnswer, &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 4,
			IdleConnTimeout: time.Minute, TLSHandshakeTimeout: o.Timeout, MaxResponseHeaderBytes: 64 << 10,
		}},
	}
}

// limited is a transport whose answers end in an error after a number of bytes.
type limited struct {
	bytes int64
	to    http.RoundTripper
}

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

// reserved are networks that no endpoint has, though the standard library takes them for global:
// shared addresses (one cloud's metadata service), protocol assignments (another's), benchmarks, the
// former class E, and IPv6 forms that carry an IPv4 address past a filter.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2002::/16"),
}

func allowed(a netip.Addr, private bool) bool {
	a = a.Unmap()
	if a.IsUnspecified() || a.IsMulticast() || a.IsLinkLocalUnicast() || a.Zone() != "" {
		return false
	}
	if a == netip.MustParseAddr("fd00:ec2::254") { // a metadata service within the private range
		return false
	}
	for _, p := range reserved {
		if p.Contains(a) {
			return false
		}
	}
	return private || !a.IsLoopback() && !a.IsPrivate()
}
