package eventlog

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"waymark/storage"
)

// A Fleet divides the workspaces of a shared log among its replicas. Each workspace has a number of owners, which fold its
// history; the first of them answers.
//
//	started   lease address/ADDRESS         no other has the address
//	joining   lease fleet/joining/ADDRESS   loads what it will own
//	live      lease fleet/live/ADDRESS      is asked by the others
//
// Owners are found by rendezvous hashing of the addresses, so that only the workspaces of a replica that comes or goes
// move. Replicas may see different fleets for a while. No event is lost or counted twice by that: every replica appends
// to the shared log, where the place and the chain of an event decide, and folds it from there. Ownership says who
// spends memory on a workspace and who is asked, never what is true.
type Fleet struct {
	shared  *Shared
	address string
	owners  int
	key     ed25519.PrivateKey // of this process; the public key is in the control log

	seen   atomic.Pointer[members]
	blind  atomic.Bool // the log has never answered
	taken  atomic.Bool // another replica has the address
	loaded atomic.Bool
	known  atomic.Bool // the key is in the control log
	stop   context.CancelFunc
	done   chan struct{}

	mu   sync.Mutex // held while leases are taken or given back
	left bool
}

// members are the addresses of replicas, sorted.
type members struct{ live, joining []string }

// How often replicas look at each other, how long one may be silent before it is taken for dead, and where they are.
const (
	FleetLook  = time.Second
	fleetLease = 10 * time.Second

	fleetName     = "fleet"
	replicaPrefix = "replica/" // of rows of the system table: the public key by which a replica is known
)

// Join enters the fleet of a shared log: address is the URL at which the other replicas reach this one, and each workspace
// has so many owners. The replica is asked by others after [Fleet.Loaded].
func (s *Shared) Join(ctx context.Context, address string, owners int) (*Fleet, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.User != nil {
		return nil, fmt.Errorf("the address %q of a replica is not http://HOST:PORT or https://HOST:PORT", address)
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	background, stop := context.WithCancel(context.Background())
	f := &Fleet{shared: s, address: address, owners: owners, key: key, stop: stop, done: make(chan struct{})}
	f.seen.Store(&members{})
	f.blind.Store(true)
	look := func(ctx context.Context) {
		if f.look(ctx) == nil { // a log that does not answer is asked again
			f.introduce(ctx)
		}
	}
	look(ctx)
	go func() {
		defer close(f.done)
		for pauseFor(background, FleetLook) == nil {
			look(background)
		}
	}()
	return f, nil
}

// introduce tells the others by which key this replica is known, once the address is its own.
func (f *Fleet) introduce(ctx context.Context) {
	if f.taken.Load() || f.known.Load() {
		f.known.Store(!f.taken.Load())
		return
	}
	_, err := f.shared.System().Put(ctx, replicaPrefix+f.address, f.key.Public().(ed25519.PublicKey))
	f.known.Store(err == nil)
}

// Known reports whether the others can know the key of this replica: before that they refuse what it hands on.
func (f *Fleet) Known() bool { return f.known.Load() }

func (f *Fleet) lease(state string) string {
	return fleetName + "/" + state + "/" + url.QueryEscape(f.address)
}

// addressLease is that of the one replica that may have the address.
func (f *Fleet) addressLease() string { return "address/" + url.QueryEscape(f.address) }

// look renews the lease of this replica and reads those of all. Where the log does not answer, what was seen stays.
func (f *Fleet) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	err := f.renew(ctx)
	if err != nil && !errors.Is(err, ErrHeld) {
		return err
	}
	f.taken.Store(err != nil)
	names, err := f.shared.log.Held(ctx, fleetName)
	if err != nil {
		return err
	}
	var m members
	for _, name := range names {
		state, escaped, _ := strings.Cut(strings.TrimPrefix(name, fleetName+"/"), "/")
		address, err := url.QueryUnescape(escaped)
		switch {
		case err != nil:
		case state == "live":
			m.live = append(m.live, address)
		case state == "joining":
			m.joining = append(m.joining, address)
		}
	}
	f.seen.Store(&m)
	f.blind.Store(false)
	return nil
}

func (f *Fleet) renew(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left {
		return nil
	}
	_, err := f.shared.log.Lease(ctx, f.addressLease(), fleetLease)
	if err == nil {
		_, err = f.shared.log.Lease(ctx, f.lease(map[bool]string{true: "live", false: "joining"}[f.loaded.Load()]), fleetLease)
	}
	return err
}

// Loaded says that this replica has what it owns: the others ask it from now on.
func (f *Fleet) Loaded(ctx context.Context) {
	if f.loaded.Swap(true) {
		return
	}
	if f.look(ctx) == nil {
		f.release(ctx, f.lease("joining"))
	}
}

func (f *Fleet) release(ctx context.Context, lease string) {
	_, _ = f.shared.log.Lease(ctx, lease, 0) // else it runs out
}

// Leave gives back the lease, so that the others ask this replica no more, and ends looking at them.
func (f *Fleet) Leave(ctx context.Context) {
	f.mu.Lock()
	left := f.left
	f.left = true
	f.mu.Unlock()
	if left {
		return
	}
	f.stop()
	<-f.done
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	for _, lease := range []string{f.lease("live"), f.lease("joining"), f.addressLease()} {
		f.release(ctx, lease)
	}
	m := *f.seen.Load()
	m.live = slices.DeleteFunc(slices.Clone(m.live), func(a string) bool { return a == f.address })
	f.seen.Store(&m)
}

// Address is where the others reach this replica.
func (f *Fleet) Address() string { return f.address }

// Owners lists the replicas that answer for a workspace, the first one first. It is this one where none is known.
func (f *Fleet) Owners(workspace string) []string {
	m := f.seen.Load()
	if len(m.live) > 0 {
		return f.first(workspace, m.live)
	}
	return f.first(workspace, f.with(m.joining))
}

// Answers reports whether this replica is the first owner of a workspace.
func (f *Fleet) Answers(workspace string) bool { return f.Owners(workspace)[0] == f.address }

// Loads reports whether this replica owns a workspace once all that join have joined.
func (f *Fleet) Loads(workspace string) bool {
	m := f.seen.Load()
	return slices.Contains(f.first(workspace, f.with(append(slices.Clone(m.live), m.joining...))), f.address)
}

// Keeps reports whether this replica owns a workspace, now or once all have joined.
func (f *Fleet) Keeps(workspace string) bool {
	return slices.Contains(f.first(workspace, f.with(f.seen.Load().live)), f.address) || f.Loads(workspace)
}

// with is a list of addresses and this one.
func (f *Fleet) with(addresses []string) []string {
	if slices.Contains(addresses, f.address) {
		return addresses
	}
	return append(slices.Clone(addresses), f.address)
}

// first are the owners of a workspace among replicas: those with the greatest hashes.
func (f *Fleet) first(workspace string, addresses []string) []string {
	type scored struct {
		address string
		hash    [32]byte
	}
	var all []scored
	for _, a := range addresses {
		all = append(all, scored{a, sha256.Sum256([]byte(a + "\x00" + workspace))})
	}
	slices.SortFunc(all, func(a, b scored) int { return bytes.Compare(b.hash[:], a.hash[:]) })
	var owners []string
	for _, s := range all {
		if len(owners) < f.owners && !slices.Contains(owners, s.address) { // one that joins again may be in both states
			owners = append(owners, s.address)
		}
	}
	return owners
}

// Asked reports whether the other replicas ask this one, or the log has not said since the start whether there are any.
func (f *Fleet) Asked() bool { return f.blind.Load() || slices.Contains(f.seen.Load().live, f.address) }

// Problem says that another replica has the address of this one, or is nil.
func (f *Fleet) Problem() error {
	if !f.taken.Load() {
		return nil
	}
	return fmt.Errorf("another server has the fleet address %s: give each server one of its own; if that server has ended, its lease runs out within %v", f.address, fleetLease)
}

// Members are the replicas that others ask, and those that load what they will own.
func (f *Fleet) Members() (live, joining []string) {
	m := f.seen.Load()
	return m.live, m.joining
}

// OwnersEach is the number of owners of each workspace.
func (f *Fleet) OwnersEach() int { return f.owners }

// Sign signs a message as this replica.
func (f *Fleet) Sign(message []byte) []byte { return ed25519.Sign(f.key, message) }

// Signed reports whether the replica with an address has signed a message.
func (f *Fleet) Signed(ctx context.Context, address string, message, signature []byte) (bool, error) {
	by := func() (bool, error) {
		key, _, err := f.shared.System().Get(ctx, replicaPrefix+address)
		if errors.Is(err, storage.ErrNotFound) {
			err = nil
		}
		return len(key) == ed25519.PublicKeySize && ed25519.Verify(key, message, signature), err
	}
	if ok, err := by(); ok || err != nil {
		return ok, err
	}
	if err := f.shared.Sync(ctx); err != nil { // it may have just started
		return false, err
	}
	return by()
}
