package eventlog

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"waymark/storage"
)

// NATS is the log in JetStream. A workspace is a subject in one of a fixed number of streams. An append is one
// message, so that it is stored whole on every version of the server, and is accepted only behind the message that
// it was sealed for.
type NATS struct {
	conn   *nats.Conn
	js     jetstream.JetStream
	stream [natsStreams]jetstream.Stream
	leases jetstream.KeyValue
	blobs  jetstream.ObjectStore
	holder string

	mu    sync.Mutex
	tails map[string]tail
}

// tail is the last message of a workspace.
type tail struct {
	head storage.Head
	at   uint64 // its place in the stream
}

// natsStreams never changes: a workspace belongs to one of them by the hash of its name.
const natsStreams = 8

// natsWait bounds one request: a cluster that elects a leader answers nothing for about six seconds.
const natsWait = 15 * time.Second

// How long a server may take to accept a connection, and how often one is asked for a sign of life: after two signs
// that are missing the next server is tried.
const (
	natsConnect = 3 * time.Second
	natsPing    = 2 * time.Second
)

// natsIdle is how long the server keeps a reader that is gone without a word.
const natsIdle = 30 * time.Second

// natsInFlight is the refusal of a message while another one of its subject is being stored.
const natsInFlight jetstream.ErrorCode = 10164

// natsAgain is how long a request of a workspace may be without an answer before it is sent again.
const natsAgain = 1500 * time.Millisecond

func openNATS(ctx context.Context, address string, opts Options) (Log, error) {
	servers, options, monitors, err := natsOptions(address)
	if err != nil {
		return nil, err
	}
	if !opts.Unsafe {
		if err := checkSync(ctx, monitors); err != nil {
			return nil, err
		}
	}
	conn, err := nats.Connect(servers, options...)
	if err != nil {
		return nil, err
	}
	n := &NATS{conn: conn, holder: cmp.Or(opts.Holder, newHolder()), tails: map[string]tail{}}
	if err := n.started(ctx, opts); err != nil {
		conn.Close()
		return nil, err
	}
	return n, nil
}

// startWait is how long a cluster may take to start.
const startWait = time.Minute

// started prepares the streams. A cluster that is starting leaves requests without an answer while it has no leader,
// and refuses to place streams until its servers have found each other, so a short question comes first and both are
// repeated. Every step of prepare can be repeated.
func (n *NATS) started(ctx context.Context, opts Options) (err error) {
	if n.js, err = jetstream.New(n.conn, jetstream.WithDefaultTimeout(natsWait)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for {
		soon, stop := context.WithTimeout(ctx, 2*time.Second)
		_, err = n.js.AccountInfo(soon)
		stop()
		if err == nil {
			err = n.prepare(ctx, opts)
		}
		if err == nil || ctx.Err() != nil || !clusterStarting(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// clusterStarting reports whether JetStream did not answer, or refused for lack of servers in contact: 10005 no
// suitable peers, 10008 the cluster is not available, 10009 no leader of the cluster.
func clusterStarting(err error) bool {
	var refused *jetstream.APIError
	if errors.As(err, &refused) {
		return slices.Contains([]jetstream.ErrorCode{10005, 10008, 10009}, refused.ErrorCode)
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
}

// natsOptions takes the parameters of an address apart: ?creds=FILE, tls_ca, tls_cert and tls_key are files, monitor
// is the address of a server's monitoring, once for each server. NATS_CREDS, NATS_USER with NATS_PASSWORD, and
// NATS_TOKEN are taken from the environment, so that no secret need be in the address.
func natsOptions(address string) (servers string, options []nats.Option, monitors []string, err error) {
	servers, rest, _ := strings.Cut(address, "?")
	query, err := url.ParseQuery(rest)
	if err != nil {
		return "", nil, nil, errors.New("the parameters of the address are malformed")
	}
	for name := range query {
		if !slices.Contains([]string{"creds", "tls_ca", "tls_cert", "tls_key", "monitor"}, name) {
			return "", nil, nil, fmt.Errorf("the address has an unknown parameter %q", name)
		}
	}
	options = []nats.Option{nats.Name("waymark"), nats.MaxReconnects(-1), nats.Timeout(natsConnect), nats.PingInterval(natsPing)}
	creds := query.Get("creds")
	if creds == "" {
		creds = os.Getenv("NATS_CREDS")
	}
	if creds != "" {
		options = append(options, nats.UserCredentials(creds))
	}
	if user := os.Getenv("NATS_USER"); user != "" {
		options = append(options, nats.UserInfo(user, os.Getenv("NATS_PASSWORD")))
	}
	if token := os.Getenv("NATS_TOKEN"); token != "" {
		options = append(options, nats.Token(token))
	}
	if ca := query.Get("tls_ca"); ca != "" {
		options = append(options, nats.RootCAs(ca))
	}
	if query.Has("tls_cert") || query.Has("tls_key") {
		options = append(options, nats.ClientCert(query.Get("tls_cert"), query.Get("tls_key")))
	}
	return servers, options, query["monitor"], nil
}

// checkSync asks the monitoring of the servers whether each syncs what it stores before it acknowledges. Clients
// cannot ask that, and the default is every two minutes. A minority may be down, and is checked at the next
// start: else no replica could start beside a majority that works.
func checkSync(ctx context.Context, monitors []string) error {
	if len(monitors) == 0 {
		return errors.New("whether the servers sync before they acknowledge is told by their monitoring alone: add " +
			"?monitor=http://HOST:8222 for each server (&monitor=… for the next), or accept the risk with --log-unsafe")
	}
	var down []error
	for _, m := range monitors {
		err := checkSyncOf(ctx, m)
		var network *net.OpError
		if errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded) {
			down = append(down, err)
		} else if err != nil {
			return err
		}
	}
	if 2*len(down) >= len(monitors) {
		return errors.Join(down...)
	}
	return nil
}

func checkSyncOf(ctx context.Context, monitor string) error {
	ctx, cancel := context.WithTimeout(ctx, natsConnect)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(monitor, "/")+"/varz", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var varz struct {
		JetStream struct {
			Config *struct {
				SyncAlways bool `json:"sync_always"`
			} `json:"config"`
		} `json:"jetstream"`
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&varz)
	switch config := varz.JetStream.Config; {
	case err != nil:
		return fmt.Errorf("read %s/varz: %w", monitor, err)
	case config == nil:
		return fmt.Errorf("the server at %s has no JetStream", monitor)
	case !config.SyncAlways:
		return fmt.Errorf("the server at %s does not sync before it acknowledges: a power failure loses events; set sync_interval: always in its jetstream block, or accept that with --log-unsafe", monitor)
	}
	return nil
}

// prepare creates streams and buckets, or checks those there are.
func (n *NATS) prepare(ctx context.Context, opts Options) (err error) {
	if n.conn.MaxPayload() < MaxBytes+(128<<10) {
		return fmt.Errorf("the server takes messages of at most %d bytes; max_payload must be at least %d", n.conn.MaxPayload(), MaxBytes+128<<10)
	}
	replicas := 3
	if opts.Unsafe && n.conn.ConnectedClusterName() == "" {
		replicas = 1
	}
	for i := range n.stream {
		want := jetstream.StreamConfig{
			Name: fmt.Sprintf("WAYMARK_%d", i), Subjects: []string{fmt.Sprintf("waymark.%d.>", i)}, Storage: jetstream.FileStorage,
			Replicas: replicas, DenyDelete: true, DenyPurge: true, Discard: jetstream.DiscardNew,
		}
		n.stream[i], err = n.js.CreateStream(ctx, want)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			n.stream[i], err = n.js.Stream(ctx, want.Name)
		}
		if err != nil {
			return fmt.Errorf("stream %s with %d replicas: %w", want.Name, replicas, err)
		}
		if err := checkStream(n.stream[i].CachedInfo().Config, want, opts); err != nil {
			return err
		}
	}
	if n.leases, err = n.js.KeyValue(ctx, "waymark_leases"); errors.Is(err, jetstream.ErrBucketNotFound) {
		n.leases, err = n.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "waymark_leases", Replicas: replicas})
	}
	if err != nil {
		return fmt.Errorf("bucket of leases: %w", err)
	}
	if n.blobs, err = n.js.ObjectStore(ctx, "waymark_blobs"); errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		n.blobs, err = n.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: "waymark_blobs", Replicas: replicas})
	}
	if err != nil {
		return fmt.Errorf("bucket of blobs: %w", err)
	}
	return nil
}

// checkStream refuses a stream that somebody made otherwise.
func checkStream(got, want jetstream.StreamConfig, opts Options) error {
	switch {
	case !slices.Equal(got.Subjects, want.Subjects):
		return fmt.Errorf("stream %s has the subjects %v instead of %v", got.Name, got.Subjects, want.Subjects)
	case got.Retention != jetstream.LimitsPolicy || got.MaxAge > 0 || got.MaxMsgs > 0 || got.MaxMsgsPerSubject > 0 || got.Discard == jetstream.DiscardOld && got.MaxBytes > 0:
		return fmt.Errorf("stream %s drops old events: it must have no limit by age or number, and by bytes only with discard new", got.Name)
	case opts.Unsafe:
		return nil
	case got.Storage != jetstream.FileStorage:
		return fmt.Errorf("stream %s is kept in memory: a restart of the servers loses events; accept that with --log-unsafe", got.Name)
	case got.Replicas < 3:
		return fmt.Errorf("stream %s has %d replicas: the loss of a disk loses events; give it 3, or accept that with --log-unsafe", got.Name, got.Replicas)
	}
	return nil
}

// place is the stream and subject of a workspace.
func (n *NATS) place(workspace string) (jetstream.Stream, string) {
	h := fnv.New32a()
	h.Write([]byte(workspace))
	i := h.Sum32() % natsStreams
	return n.stream[i], fmt.Sprintf("waymark.%d.%s", i, base64.RawURLEncoding.EncodeToString([]byte(workspace)))
}

// A message is the place of its first event, then every event with its length before it.
func encodeMessage(events []storage.Sealed) []byte {
	b := binary.BigEndian.AppendUint64(nil, events[0].Seq)
	for i := range events {
		record := events[i].Bytes()
		b = append(binary.AppendUvarint(b, uint64(len(record))), record...)
	}
	return b
}

func decodeMessage(b []byte) (events []storage.Sealed, err error) {
	if len(b) < 8 {
		return nil, fmt.Errorf("%w: message of %d bytes", storage.ErrDamaged, len(b))
	}
	seq, b := binary.BigEndian.Uint64(b), b[8:]
	for ; len(b) > 0; seq++ {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return nil, fmt.Errorf("%w: event %d is cut short", storage.ErrDamaged, seq)
		}
		e, err := storage.OpenSealed(seq, b[n:n+int(size)])
		if err != nil {
			return nil, err
		}
		events, b = append(events, e), b[n+int(size):]
	}
	if len(events) == 0 {
		return nil, fmt.Errorf("%w: message without events", storage.ErrDamaged)
	}
	return events, nil
}

// asked repeats a request that is not answered. A stream without a leader drops what it is sent: the leader that is elected
// next never answers it. Where another message is being stored at the same place, asked waits for it. Requests must be
// such that doing them twice is harmless.
func asked[T any](ctx context.Context, request func(ctx context.Context) (T, error)) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, natsWait)
	defer cancel()
	for {
		soon, stop := context.WithTimeout(ctx, natsAgain)
		answer, err = request(soon)
		stop()
		var refused *jetstream.APIError
		if errors.As(err, &refused) && refused.ErrorCode == natsInFlight { // as good as no answer
			err = cmp.Or(pauseFor(ctx, 20*time.Millisecond), context.DeadlineExceeded)
		}
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return answer, err
		}
	}
}

// tail reads the last message of a workspace; the zero tail if there is none.
func (n *NATS) tail(ctx context.Context, workspace string) (tail, error) {
	stream, subject := n.place(workspace)
	last := func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return stream.GetLastMsgForSubject(ctx, subject)
	}
	m, err := asked(ctx, last)
	if errors.Is(err, jetstream.ErrMsgNotFound) { // also the answer where there is one that the server cannot read
		info, failed := stream.Info(ctx, jetstream.WithSubjectFilter(subject))
		if failed != nil || info.State.Subjects[subject] == 0 {
			return tail{}, failed
		}
		if m, err = asked(ctx, last); errors.Is(err, jetstream.ErrMsgNotFound) { // nor was it just stored
			err = fmt.Errorf("%w: the last event of workspace %q cannot be read by the server", storage.ErrDamaged, workspace)
		}
	}
	if err != nil {
		return tail{}, err
	}
	events, err := decodeMessage(m.Data)
	if err != nil {
		return tail{}, err
	}
	return tail{events[len(events)-1].Head(), m.Sequence}, nil
}

// Append implements [Log].
func (n *NATS) Append(ctx context.Context, workspace string, events []storage.Sealed) error {
	if err := check(events); err != nil {
		return err
	}
	n.mu.Lock()
	t, ok := n.tails[workspace]
	n.mu.Unlock()
	var err error
	if !ok || t.head.Seq+1 != events[0].Seq {
		if t, err = n.tail(ctx, workspace); err != nil {
			return err
		}
	}
	if t.head.Seq+1 != events[0].Seq {
		return ended(ctx, n, workspace, t.head, events)
	}
	if err := continues(t.head, &events[0]); err != nil {
		return err
	}
	_, subject := n.place(workspace)
	message := encodeMessage(events)
	ack, err := asked(ctx, func(ctx context.Context) (*jetstream.PubAck, error) { // the second one finds the first one at its place
		return n.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: message}, jetstream.WithExpectLastSequencePerSubject(t.at))
	})
	n.mu.Lock()
	if err == nil {
		n.tails[workspace] = tail{events[len(events)-1].Head(), ack.Sequence}
	} else {
		delete(n.tails, workspace)
	}
	n.mu.Unlock()
	var refused *jetstream.APIError
	if errors.As(err, &refused) && refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence {
		if t, err = n.tail(ctx, workspace); err == nil {
			err = ended(ctx, n, workspace, t.head, events)
		}
	}
	return err
}

// Head implements [Log].
func (n *NATS) Head(ctx context.Context, workspace string) (storage.Head, error) {
	t, err := n.tail(ctx, workspace)
	return t.head, err
}

// Read implements [Log].
func (n *NATS) Read(ctx context.Context, workspace string, after uint64, follow bool) iter.Seq2[storage.Sealed, error] {
	return func(yield func(storage.Sealed, error) bool) {
		if err := n.read(ctx, workspace, after, follow, yield); err != nil {
			yield(storage.Sealed{}, err)
		}
	}
}

func (n *NATS) read(ctx context.Context, workspace string, after uint64, follow bool, yield func(storage.Sealed, error) bool) error {
	t, err := n.tail(ctx, workspace)
	if err != nil || !follow && t.head.Seq <= after {
		return err
	}
	start, err := n.find(ctx, workspace, after, t)
	if err != nil {
		return err
	}
	stream, subject := n.place(workspace)
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{subject}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: start,
		InactiveThreshold: natsIdle,
	})
	if err != nil {
		return err
	}
	defer func() { // a server has few: those of short reads must not wait for their time to be over
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), natsConnect)
		defer cancel()
		if info := consumer.CachedInfo(); info != nil {
			_ = stream.DeleteConsumer(ctx, info.Name)
		}
	}()
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		events, err := decodeMessage(m.Data())
		if err != nil {
			return err
		}
		for _, e := range events {
			if e.Seq <= after {
				continue
			}
			if e.Seq != after+1 {
				return fmt.Errorf("%w: event %d is missing", storage.ErrDamaged, after+1)
			}
			if !follow && after == t.head.Seq || !yield(e, nil) {
				return nil
			}
			after = e.Seq
		}
		if !follow && after >= t.head.Seq {
			return nil
		}
	}
}

// find is the place in the stream from which on the events after one are, by bisection.
func (n *NATS) find(ctx context.Context, workspace string, after uint64, t tail) (uint64, error) {
	if after == 0 {
		return 1, nil
	}
	if after >= t.head.Seq {
		return t.at + 1, nil
	}
	stream, subject := n.place(workspace)
	var failed error
	at := sort.Search(int(t.at), func(i int) bool {
		if failed != nil {
			return true
		}
		m, err := stream.GetMsg(ctx, uint64(i)+1, jetstream.WithGetMsgSubject(subject))
		var events []storage.Sealed
		if err == nil {
			events, err = decodeMessage(m.Data)
		}
		failed = err
		return err != nil || events[len(events)-1].Seq > after
	})
	return uint64(at) + 1, failed
}

// Workspaces implements [Log].
func (n *NATS) Workspaces(ctx context.Context) ([]string, error) {
	var names []string
	for i, s := range n.stream {
		prefix := fmt.Sprintf("waymark.%d.", i)
		info, err := s.Info(ctx, jetstream.WithSubjectFilter(prefix+">"))
		if err != nil {
			return nil, err
		}
		for subject := range info.State.Subjects {
			name, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(subject, prefix))
			if err != nil {
				return nil, fmt.Errorf("subject %s names no workspace", subject)
			}
			names = append(names, string(name))
		}
	}
	slices.Sort(names)
	return names, nil
}

// Lease implements [Log].
func (n *NATS) Lease(ctx context.Context, name string, ttl time.Duration) (uint64, error) {
	key := leaseKey(name)
	entry, err := n.leases.Get(ctx, key)
	if err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
		return 0, err
	}
	var row []byte
	if err == nil {
		row = entry.Value()
	}
	next, err := nextLease(row, n.holder, ttl)
	if err != nil {
		return 0, err
	}
	if row == nil {
		_, err = n.leases.Create(ctx, key, next.encode())
	} else {
		_, err = n.leases.Update(ctx, key, next.encode(), entry.Revision())
	}
	var refused *jetstream.APIError
	if errors.Is(err, jetstream.ErrKeyExists) || errors.As(err, &refused) && refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence {
		err = ErrHeld
	}
	return next.epoch, err
}

// leaseKey is the key of a lease: each part of its name is a token of its own, so that those under one can be asked for.
func leaseKey(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "=" + base64.RawURLEncoding.EncodeToString([]byte(part)) // a token is not empty
	}
	return strings.Join(parts, ".")
}

// Held implements [Log].
func (n *NATS) Held(ctx context.Context, under string) (names []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, natsWait)
	defer cancel()
	watch, err := n.leases.Watch(ctx, leaseKey(under)+".>", jetstream.IgnoreDeletes())
	if err != nil {
		return nil, err
	}
	defer func() { _ = watch.Stop() }() // what there was has come
	for entry := range watch.Updates() {
		if entry == nil { // the end of what there is
			slices.Sort(names)
			return names, nil
		}
		held, err := decodeLease(entry.Value())
		if err != nil {
			return nil, err
		}
		var name []string
		for token := range strings.SplitSeq(entry.Key(), ".") {
			part, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, "="))
			if err != nil {
				return nil, fmt.Errorf("key %s names no lease", entry.Key())
			}
			name = append(name, string(part))
		}
		if held.held() {
			names = append(names, strings.Join(name, "/"))
		}
	}
	return nil, cmp.Or(ctx.Err(), nats.ErrConnectionClosed)
}

// PutBlob implements [Log].
func (n *NATS) PutBlob(ctx context.Context, data []byte) ([32]byte, error) {
	sum := sha256.Sum256(data)
	_, err := n.blobs.Put(ctx, jetstream.ObjectMeta{Name: hex.EncodeToString(sum[:])}, bytes.NewReader(data))
	return sum, err
}

// Blob implements [Log].
func (n *NATS) Blob(ctx context.Context, sum [32]byte) ([]byte, error) {
	data, err := n.blobs.GetBytes(ctx, hex.EncodeToString(sum[:]))
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		err = ErrNoBlob
	}
	if err != nil {
		return nil, err
	}
	return data, checkBlob(data, sum)
}

// DeleteBlob implements [Log].
func (n *NATS) DeleteBlob(ctx context.Context, sum [32]byte) error {
	err := n.blobs.Delete(ctx, hex.EncodeToString(sum[:]))
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil
	}
	return err
}

// Close implements [Log].
func (n *NATS) Close() error {
	n.conn.Close()
	return nil
}
