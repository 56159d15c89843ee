package eventlog

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"waymark/storage"
)

// Postgres is the log in a database of PostgreSQL. That two writers cannot store the same place is the primary key's
// doing, at any level of isolation; that no place is left out follows from reading the end before.
//
// It speaks pgconn, the lower half of pgx: the upper half's types would be most of what it adds to the program.
type Postgres struct {
	config *pgconn.Config
	idle   chan *pgconn.PgConn // open and unused
	unused chan struct{}       // one for each that may be opened
	holder string

	mu       sync.Mutex
	listener *listener // nil: nobody follows
}

// postgresConns is how many connections serve calls; those who follow share one more.
const postgresConns = 8

const postgresTables = `
create table if not exists waymark_events (workspace text not null, seq bigint not null, record bytea not null, primary key (workspace, seq));
create table if not exists waymark_leases (name text primary key, epoch bigint not null, until timestamptz not null, holder text not null)`

// How often a reader that follows looks for events where the server sends no notification, and where it does: none is
// lost as long as the connection lasts.
const (
	postgresPoll     = time.Second
	postgresPatience = 30 * time.Second
)

func openPostgres(ctx context.Context, address string, opts Options) (Log, error) {
	config, err := pgconn.ParseConfig(address)
	if err != nil {
		return nil, err
	}
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, postgresConnect)
	config.DialFunc = onlyToConnect(config.DialFunc)
	config.AfterConnect = fence
	p := &Postgres{config: config, idle: make(chan *pgconn.PgConn, postgresConns), unused: make(chan struct{}, postgresConns), holder: cmp.Or(opts.Holder, newHolder())}
	for range postgresConns {
		p.unused <- struct{}{}
	}
	if err := p.prepare(ctx, opts); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// postgresConnect is how long a server may take to accept a connection before the next one of the address is tried,
// unless the address says connect_timeout.
const postgresConnect = 2 * time.Second

// fence has a new connection wait until the synchronous standby has all that can be read on it. After a restart of the
// primary also what had waited for the standby is visible. Of several connections one waits: the others end by lock_timeout.
func fence(ctx context.Context, conn *pgconn.PgConn) error {
	_, err := conn.Exec(ctx, `set lock_timeout = '1s'; insert into waymark_leases values ('fence', 0, now(), '')
on conflict (name) do update set until = now()`).ReadAll()
	if code := sqlState(err); err != nil && (code == "" || code == "55P03") {
		return err
	} // else it has no table yet, or takes no writes, which is for others to say
	_, err = conn.Exec(ctx, "set lock_timeout = '5s'").ReadAll()
	return err
}

type connecting struct{}

func connect(ctx context.Context, config *pgconn.Config) (*pgconn.PgConn, error) {
	return pgconn.ConnectConfig(context.WithValue(ctx, connecting{}, true), config)
}

// onlyToConnect refuses the connections by which pgconn asks the server to cancel a statement that was given up. One
// that waits for a synchronous standby would end with its events visible but on the primary alone, and the next attempt
// would find them and acknowledge them. Without that request the events stay invisible until the standby has them.
// Others that append at their place wait for them, and are ended by lock_timeout.
func onlyToConnect(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if ctx.Value(connecting{}) == nil {
			return nil, errors.New("statements are not cancelled")
		}
		return dial(ctx, network, address)
	}
}

// use gives f a connection, and opens one where there is none.
func (p *Postgres) use(ctx context.Context, f func(conn *pgconn.PgConn) error) (err error) {
	var conn *pgconn.PgConn
	select {
	case conn = <-p.idle:
	default:
		select {
		case conn = <-p.idle:
		case <-p.unused:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer func() {
		if conn == nil || conn.IsClosed() {
			p.unused <- struct{}{}
		} else {
			p.idle <- conn
		}
	}()
	if conn == nil || conn.Ping(ctx) != nil {
		if conn != nil {
			_ = conn.Close(ctx)
		}
		if conn, err = connect(ctx, p.config); err != nil {
			return err
		}
	}
	return f(conn)
}

// query runs one statement, which is a transaction of its own. Parameters are text, []byte (binary, as the server
// takes it) or uint64; results are binary.
func (p *Postgres) query(ctx context.Context, statement string, parameters ...any) (rows [][][]byte, err error) {
	values, formats := make([][]byte, len(parameters)), make([]int16, len(parameters))
	for i, v := range parameters {
		switch v := v.(type) {
		case string:
			values[i] = []byte(v)
		case uint64:
			values[i], formats[i] = binary.BigEndian.AppendUint64(nil, v), 1
		case []byte:
			values[i], formats[i] = v, 1
		}
	}
	err = p.use(ctx, func(conn *pgconn.PgConn) error {
		result := conn.ExecParams(ctx, statement, values, nil, formats, []int16{1}).Read()
		rows = result.Rows
		return result.Err
	})
	return rows, err
}

func (p *Postgres) prepare(ctx context.Context, opts Options) error {
	standby, err := p.text(ctx, "select pg_is_in_recovery()::text")
	if err != nil {
		return err
	}
	if standby == "true" {
		return errors.New("the server is a standby; name the primary, or all servers with target_session_attrs=read-write")
	}
	if !opts.Unsafe {
		if err := p.checkSettings(ctx); err != nil {
			return err
		}
	}
	// Creating needs a right that the program's user may lack afterwards.
	tables, err := p.text(ctx, "select count(*)::text from unnest(array['waymark_events', 'waymark_leases']) name where to_regclass(name) is not null")
	if err != nil || tables == "2" {
		return err
	}
	for range 3 { // two processes that start at once may both see that a table is missing
		err = p.use(ctx, func(conn *pgconn.PgConn) error {
			_, err := conn.Exec(ctx, postgresTables).ReadAll()
			return err
		})
		if code := sqlState(err); code != "23505" && code != "42P07" {
			break
		}
	}
	return err
}

// text runs a statement that answers one text.
func (p *Postgres) text(ctx context.Context, statement string, parameters ...any) (string, error) {
	rows, err := p.query(ctx, statement, parameters...)
	if err != nil {
		return "", err
	}
	return string(rows[0][0]), nil
}

// checkSettings refuses what can lose acknowledged events.
func (p *Postgres) checkSettings(ctx context.Context) error {
	for _, s := range []struct{ name, lossy, why string }{
		{"fsync", "off", "a crash of the machine may lose or damage any event"},
		{"full_page_writes", "off", "a crash of the machine may damage the table"},
		{"synchronous_commit", "off", "a crash may lose events that were acknowledged"},
	} {
		value, err := p.text(ctx, "select current_setting($1)", s.name)
		if err != nil {
			return err
		}
		if value == s.lossy {
			return fmt.Errorf("the server has %s = %s: %s; change it or accept that with --log-unsafe", s.name, value, s.why)
		}
	}
	commit, err := p.text(ctx, "select current_setting('synchronous_commit')")
	if err != nil {
		return err
	}
	standbys, err := p.text(ctx, "select current_setting('synchronous_standby_names')")
	if err == nil && commit == "local" && standbys != "" {
		err = errors.New("the server has synchronous_commit = local and synchronous standbys: a failover may lose events that were acknowledged; use on, or accept that with --log-unsafe")
	}
	return err
}

func sqlState(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Append implements [Log].
func (p *Postgres) Append(ctx context.Context, workspace string, events []storage.Sealed) error {
	if err := check(events); err != nil {
		return err
	}
	records := make([][]byte, len(events))
	for i := range events {
		records[i] = events[i].Bytes()
	}
	head, err := p.Head(ctx, workspace)
	if err != nil {
		return err
	}
	if head.Seq+1 != events[0].Seq {
		return ended(ctx, p, workspace, head, events)
	}
	if err := continues(head, &events[0]); err != nil {
		return err
	}
	_, err = p.query(ctx, `with stored as (insert into waymark_events (workspace, seq, record)
select $1::text, $2::bigint + n, r from unnest($3::bytea[]) with ordinality as t(r, n) returning seq)
select count(*)::text, pg_notify('waymark_events', $1::text)::text from stored`, workspace, head.Seq, byteaArray(records))
	// 40001 is what CockroachDB and Yugabyte answer to some of two writers at one place: one was stored.
	if code := sqlState(err); code == "23505" || code == "40001" {
		if head, err = p.Head(ctx, workspace); err == nil {
			err = ended(ctx, p, workspace, head, events)
		}
	}
	return err
}

// byteaArray is bytea[] as the server takes it: dimensions, whether there are nulls, type; length and first index;
// then each value with its length before it.
func byteaArray(values [][]byte) []byte {
	const bytea = 17
	var b []byte
	for _, v := range []uint32{1, 0, bytea, uint32(len(values)), 1} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	for _, v := range values {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
	}
	return b
}

// Head implements [Log].
func (p *Postgres) Head(ctx context.Context, workspace string) (storage.Head, error) {
	last, err := p.events(ctx, "select seq, record from waymark_events where workspace = $1 order by seq desc limit 1", workspace)
	if err != nil || len(last) == 0 {
		return storage.Head{}, err
	}
	return last[0].Head(), nil
}

func (p *Postgres) events(ctx context.Context, statement string, parameters ...any) ([]storage.Sealed, error) {
	rows, err := p.query(ctx, statement, parameters...)
	if err != nil {
		return nil, err
	}
	events := make([]storage.Sealed, len(rows))
	for i, row := range rows {
		if events[i], err = storage.OpenSealed(binary.BigEndian.Uint64(row[0]), row[1]); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// Read implements [Log].
func (p *Postgres) Read(ctx context.Context, workspace string, after uint64, follow bool) iter.Seq2[storage.Sealed, error] {
	return func(yield func(storage.Sealed, error) bool) {
		wait := func() error { return nil }
		if follow {
			listening, end, err := p.listen(ctx, workspace)
			if err != nil {
				yield(storage.Sealed{}, err)
				return
			}
			defer end()
			wait = listening
		}
		for {
			head, err := p.Head(ctx, workspace)
			if err == nil {
				var more bool
				if after, more, err = p.readTo(ctx, workspace, after, head.Seq, yield); err == nil && !more {
					return
				}
			}
			if err == nil && !follow {
				return
			}
			if err == nil {
				err = wait()
			}
			if err != nil {
				yield(storage.Sealed{}, err)
				return
			}
		}
	}
}

// readTo yields the events up to end; more is false where yield wants none.
func (p *Postgres) readTo(ctx context.Context, workspace string, after, end uint64, yield func(storage.Sealed, error) bool) (last uint64, more bool, err error) {
	for after < end {
		page, err := p.events(ctx, "select seq, record from waymark_events where workspace = $1 and seq > $2 and seq <= $3 order by seq limit 1000", workspace, after, end)
		if err != nil {
			return after, true, err
		}
		if len(page) == 0 {
			return after, true, fmt.Errorf("%w: event %d is missing", storage.ErrDamaged, after+1)
		}
		for _, e := range page {
			if !yield(e, nil) {
				return after, false, nil
			}
			after = e.Seq
		}
	}
	return after, true, nil
}

// listener wakes all who follow a log in this process by one connection.
type listener struct {
	stop   context.CancelFunc
	ready  chan struct{} // closed when it hears, or has failed
	failed chan struct{} // closed when it ended
	err    error         // why
	deaf   bool          // the server has no notifications: the end of the log is looked at

	followers map[chan struct{}]string // their workspaces; guarded by [Postgres.mu]
}

// listen returns a function that waits until there may be more events of a workspace.
func (p *Postgres) listen(ctx context.Context, workspace string) (wait func() error, end func(), err error) {
	woken := make(chan struct{}, 1)
	p.mu.Lock()
	l := p.listener
	if l == nil {
		background, stop := context.WithCancel(context.Background())
		l = &listener{stop: stop, ready: make(chan struct{}), failed: make(chan struct{}), followers: map[chan struct{}]string{}}
		p.listener = l
		go p.hear(background, l)
	}
	l.followers[woken] = workspace
	p.mu.Unlock()
	end = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if delete(l.followers, woken); len(l.followers) == 0 {
			l.stop()
			if p.listener == l {
				p.listener = nil
			}
		}
	}
	select {
	case <-l.ready:
	case <-ctx.Done():
		end()
		return nil, nil, ctx.Err()
	}
	poll := postgresPatience
	if l.deaf {
		poll = postgresPoll
	}
	return func() error {
		select {
		case <-woken:
		case <-time.After(poll):
		case <-l.failed:
			return l.err
		case <-ctx.Done():
			return ctx.Err()
		}
		return nil
	}, end, nil
}

// hear tells followers of new events until the connection ends or nobody follows.
func (p *Postgres) hear(ctx context.Context, l *listener) {
	ready := sync.OnceFunc(func() { close(l.ready) })
	l.err = func() error {
		conn, err := connect(ctx, p.hearing(l))
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // nothing was written on it
		if _, err := conn.Exec(ctx, "listen waymark_events").ReadAll(); err != nil {
			if l.deaf = sqlState(err) != ""; !l.deaf {
				return err
			}
		}
		ready()
		for {
			if err := conn.WaitForNotification(ctx); err != nil {
				return err
			}
		}
	}()
	p.mu.Lock()
	if p.listener == l {
		p.listener = nil
	}
	p.mu.Unlock()
	close(l.failed)
	ready()
}

// hearing is how to connect for a listener.
func (p *Postgres) hearing(l *listener) *pgconn.Config {
	config := p.config.Copy()
	config.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for woken, workspace := range l.followers {
			if workspace == n.Payload {
				select {
				case woken <- struct{}{}:
				default: // it is awake
				}
			}
		}
	}
	return config
}

// Workspaces implements [Log].
func (p *Postgres) Workspaces(ctx context.Context) ([]string, error) {
	// One look into the index for each workspace, not for each event.
	return p.names(ctx, `with recursive w(name) as (select min(workspace) from waymark_events
union all select (select min(workspace) from waymark_events where workspace > name) from w where name is not null)
select name from w where name is not null order by name collate "C"`)
}

// Lease implements [Log], by the clock of the database.
func (p *Postgres) Lease(ctx context.Context, name string, ttl time.Duration) (epoch uint64, err error) {
	rows, err := p.query(ctx, `
insert into waymark_leases as l (name, epoch, until, holder) values ($1, 1, now() + $3::bigint * interval '1 microsecond', $2)
on conflict (name) do update set until = excluded.until, holder = excluded.holder,
  epoch = l.epoch + case when l.holder = excluded.holder and l.until > now() then 0 else 1 end
  where l.holder = excluded.holder or l.until <= now()
returning epoch`, name, p.holder, uint64(ttl.Microseconds()))
	if err != nil {
		return 0, err
	}
	if len(rows) == 0 {
		return 0, ErrHeld
	}
	return binary.BigEndian.Uint64(rows[0][0]), nil
}

// names are the rows of a statement with one column.
func (p *Postgres) names(ctx context.Context, statement string, parameters ...any) ([]string, error) {
	rows, err := p.query(ctx, statement, parameters...)
	names := make([]string, len(rows))
	for i, row := range rows {
		names[i] = string(row[0])
	}
	return names, err
}

// Close implements [Log]; it waits for calls under way.
func (p *Postgres) Close() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), postgresPoll)
	defer cancel()
	for range postgresConns {
		select {
		case conn := <-p.idle:
			err = errors.Join(err, conn.Close(ctx))
		case <-p.unused:
		}
	}
	return err
}
