package endpoint

import (
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// The networks that the standard library takes for ordinary ones are those of the reliability notes.
func TestAddresses(t *testing.T) {
	for address, want := range map[string][2]bool{ // without, with AllowPrivate
		"93.184.216.34":      {true, true},
		"2606:4700::1":       {true, true},
		"127.0.0.1":          {false, true},
		"::1":                {false, true},
		"192.168.1.5":        {false, true},
		"::ffff:10.0.0.1":    {false, true},
		"fd12::1":            {false, true},
		"169.254.169.254":    {false, false},
		"fe80::1":            {false, false},
		"fd00:ec2::254":      {false, false},
		"100.100.100.200":    {false, false},
		"192.0.0.192":        {false, false},
		"198.18.0.1":         {false, false},
		"240.0.0.1":          {false, false},
		"0.0.0.0":            {false, false},
		"64:ff9b::a9fe:a9fe": {false, false},
		"2002:a9fe:a9fe::":   {false, false},
		"168.63.129.16":      {false, false},
		"2001:0:a9fe:a9fe::": {false, false},
		"2001:4860:4860::88": {true, true},
		"::169.254.169.254":  {false, false},
		"::ffff:169.254.1.1": {false, false},
		"224.0.0.1":          {false, false},
	} {
		a := netip.MustParseAddr(address)
		assert.Equal(t, want, [2]bool{allowed(a, false), allowed(a, true)}, address)
	}
}

// What is refused when it is dialled is refused when it is configured, and so is every form that only some programs
// read as an address.
func TestCheckHost(t *testing.T) {
	for host, want := range map[string]error{
		"example.org": nil, "localhost": nil, "tools": nil, "1e100.net": nil, "127.0.0.1": nil, "::1": nil, "10.0.0.7": nil,
		"169.254.169.254": ErrAddress, "100.100.100.200": ErrAddress, "64:ff9b::a9fe:a9fe": ErrAddress, "::ffff:169.254.169.254": ErrAddress,
		"2852039166": ErrAddressForm, "0xa9fea9fe": ErrAddressForm, "0251.0376.0251.0376": ErrAddressForm, "169.254.43518": ErrAddressForm,
		"0xa9.0xfe.0xa9.0xfe": ErrAddressForm, "127.1": ErrAddressForm, "127.0.0.01": ErrAddressForm, "2130706433.": ErrAddressForm,
	} {
		assert.ErrorIs(t, CheckHost(host, true), want, host)
	}
	assert.ErrorIs(t, CheckHost("10.0.0.7", false), ErrAddress)
	assert.ErrorIs(t, CheckBaseURL("http://2852039166/v1"), ErrAddressForm)
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-3": 0, "soon": 0, "1e9": 0, "99999999": 24 * time.Hour,
		"Thu, 01 Jan 2026 12:00:30 GMT": 30 * time.Second, "Thu, 01 Jan 2026 11:00:00 GMT": 0,
	} {
		assert.Equal(t, want, RetryAfter(http.Header{"Retry-After": {value}}, now), value)
	}
}

// Each step reports the end of one call, or asks for one; the state and what the step returned follow.
func TestCircuit(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	c := &Circuit{Trip: 2, CoolDown: time.Minute, Now: func() time.Time { return now }}
	wait := func() any { now = now.Add(time.Minute); return nil }
	enter := func() any { return c.Enter() }
	failed := func() any { return c.Failed() }
	succeeded := func() any { c.Succeeded(); return nil }
	for i, step := range []struct {
		do    func() any
		gives any
		state string
	}{
		{enter, nil, "closed"}, {failed, false, "closed"}, {enter, nil, "closed"},
		{enter, nil, "closed"}, {succeeded, nil, "closed"}, {failed, false, "closed"}, // not in a row
		{failed, true, "open"}, {enter, ErrUnavailable, "open"}, {failed, false, "open"},
		{wait, nil, "half-open"}, {enter, nil, "open"}, {enter, ErrUnavailable, "open"}, // one on trial
		{failed, false, "open"}, {enter, ErrUnavailable, "open"},
		{wait, nil, "half-open"}, {enter, nil, "open"}, {succeeded, nil, "closed"}, {enter, nil, "closed"},
	} {
		assert.Equal(t, step.gives, step.do(), "step %d", i)
		assert.Equal(t, step.state, c.State(), "step %d", i)
	}
}
