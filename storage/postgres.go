package storage

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// postgres keeps everything in two tables, which several processes share:
//
//	waymark_events    workspace, position, record          the entries of tableEvents: a name is a position
//	waymark_entries   kind, workspace, name, record        all others
//
// An update locks the headers of its workspaces, so updates of one workspace follow each other, and reads what was
// committed before. It speaks pgconn, the lower half of pgx: the upper half's types would be most of what it adds to
// the program.
type postgres struct {
	config  *pgconn.Config
	slots   chan struct{} // one is taken by each transaction
	closing chan struct{}

	mu   sync.Mutex
	idle []*pgconn.PgConn

	writing sync.Mutex // one update at a time, so that the last one alone can have an unknown outcome
	id      string     // of this process
	updates uint64

	listening sync.Mutex
	listener  *pgconn.PgConn // nil: not yet, or lost
	deaf      bool           // the server has no notifications
}

const (
	tableWriters kind = 'w' // id of a process: the number of its last update, and when that was in Unix seconds
	tableMarks   kind = 'm' // "restoring": a restore is under way, or did not finish
)

var restoring = Key{tableMarks, "", "restoring"}

const postgresTables = `
create table if not exists waymark_events (workspace text collate "C" not null, position bigint not null, record bytea not null,
  primary key (workspace, position));
create table if not exists waymark_entries (kind "char" not null, workspace text collate "C" not null, name bytea not null,
  record bytea not null, primary key (kind, workspace, name))`

const (
	postgresConns   = 8               // for transactions; one more listens
	postgresConnect = 2 * time.Second // until the next server of the address is tried, unless it says connect_timeout
	keptWriters     = 24 * time.Hour  // entries of processes; one that still runs makes its own again
	oidChar         = 18              // of the type "char"
	oidText         = 25              // of text
	oidBytea        = 17              // of bytea
	oidBigint       = 20              // of bigint
)

// OpenPostgres opens the store in the database at an address postgres://…, and creates its tables where they are
// missing. The password in the address is in no error.
func OpenPostgres(ctx context.Context, address string, opts Options) (*Store, error) {
	e, err := openPostgres(ctx, address, opts)
	if err != nil {
		return nil, err
	}
	var mark []byte
	err = e.View(ctx, func(r Reader) error {
		values, err := r.Get(restoring)
		if err == nil {
			mark = values[0]
		}
		return err
	})
	if err == nil && mark != nil {
		err = errors.New("a restore into it did not finish; restore again")
	}
	if err != nil {
		return nil, fmt.Errorf("opening the database %s: %w", PostgresName(address), errors.Join(err, e.Close()))
	}
	s, err := New(ctx, e, opts)
	if err != nil {
		return nil, fmt.Errorf("opening the database %s: %w", PostgresName(address), err)
	}
	return s, nil
}

// PostgresName is an address without what is secret in it.
func PostgresName(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	rest, _, _ = strings.Cut(rest, "?")
	return scheme + "://" + rest[strings.LastIndex(rest, "@")+1:]
}

func openPostgres(ctx context.Context, address string, opts Options) (*postgres, error) {
	if scheme, _, ok := strings.Cut(address, "://"); !ok || scheme != "postgres" && scheme != "postgresql" {
		return nil, errors.New("the address of a database is postgres://…")
	}
	p := &postgres{slots: make(chan struct{}, postgresConns), closing: make(chan struct{}), id: newHolder()}
	var err error
	if p.config, err = pgconn.ParseConfig(address); err == nil {
		p.config.ConnectTimeout = cmp.Or(p.config.ConnectTimeout, postgresConnect)
		p.config.DialFunc = onlyToConnect(p.config.DialFunc)
		p.config.AfterConnect = fence
		if err = p.prepare(ctx, opts); err != nil {
			err = errors.Join(err, p.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("opening the database %s: %w", PostgresName(address), hide(address, err))
	}
	return p, nil
}

// hidden is an error whose text lacks a secret.
type hidden struct {
	error
	text string
}

func (h hidden) Error() string { return h.text }
func (h hidden) Unwrap() error { return h.error }

// hide takes the secrets in an address out of an error, decoded and as they are written: what stands before @ (but for
// the name of a user who has a password), and the passwords among the parameters.
func hide(address string, err error) error {
	_, rest, _ := strings.Cut(address, "://")
	servers, parameters, _ := strings.Cut(rest, "?")
	secrets := []string{address}
	if at := strings.LastIndex(servers, "@"); at >= 0 {
		user, password, _ := strings.Cut(servers[:at], ":")
		secrets = append(secrets, cmp.Or(password, user))
	}
	for parameter := range strings.SplitSeq(parameters, "&") {
		if name, value, _ := strings.Cut(parameter, "="); strings.Contains(name, "password") {
			secrets = append(secrets, value)
		}
	}
	text := err.Error()
	for _, secret := range secrets {
		decoded, _ := url.PathUnescape(secret)
		for _, s := range []string{secret, decoded} {
			if s != "" {
				text = strings.ReplaceAll(text, s, "xxxxx")
			}
		}
	}
	return hidden{err, text}
}

// fence has a new connection wait until the synchronous standby has all that can be read on it. After the primary was
// restarted, or a connection ended, also what had waited for the standby is visible: it must not be acknowledged, nor
// read, before a failover can no longer lose it.
func fence(ctx context.Context, conn *pgconn.PgConn) error {
	_, err := conn.Exec(ctx, `set lock_timeout = '5s';
select case when pg_is_in_recovery() then null else pg_logical_emit_message(true, 'waymark', '') end`).ReadAll()
	return err
}

type connecting struct{}

func connect(ctx context.Context, config *pgconn.Config) (*pgconn.PgConn, error) {
	return pgconn.ConnectConfig(context.WithValue(ctx, connecting{}, true), config)
}

// onlyToConnect refuses the connections by which pgconn asks the server to cancel a statement that was given up. A
// commit that waits for a synchronous standby would end with its entries visible but on the primary alone, and whoever
// looks for them would find and acknowledge them. Without that request they stay invisible until the standby has them.
func onlyToConnect(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if ctx.Value(connecting{}) == nil {
			return nil, errors.New("statements are not cancelled")
		}
		return dial(ctx, network, address)
	}
}

// prepare refuses a server that can lose acknowledged data, and creates the tables.
func (p *postgres) prepare(ctx context.Context, opts Options) error {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	return p.transaction(ctx, "begin", func(r *pgReader) error {
		rows, err := r.query(`select pg_is_in_recovery()::text, current_setting('fsync'), current_setting('full_page_writes'),
current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
(to_regclass('waymark_events') is null or to_regclass('waymark_entries') is null)::text`)
		if err != nil {
			return err
		}
		var s [6]string
		for i, value := range rows[0] {
			s[i] = string(value)
		}
		if s[0] == "true" {
			return errors.New("the server is a standby; name the primary, or all servers with target_session_attrs=read-write")
		}
		lossy := ""
		switch {
		case s[1] == "off":
			lossy = "fsync = off: a crash of the machine may lose or damage any entry"
		case s[2] == "off":
			lossy = "full_page_writes = off: a crash of the machine may damage the tables"
		case s[3] == "off":
			lossy = "synchronous_commit = off: a crash may lose what was acknowledged"
		case s[3] == "local" && s[4] != "":
			lossy = "synchronous_commit = local and synchronous standbys: a failover may lose what was acknowledged"
		}
		if lossy != "" && !opts.Unsafe {
			return fmt.Errorf("the server has %s; change it, or accept that with --store-unsafe", lossy)
		}
		if s[5] == "true" { // creating needs a right that the program's user may lack afterwards
			// Two processes that start at once would both find that a table is missing.
			if err := r.exec("select pg_advisory_xact_lock(hashtext('waymark')); " + postgresTables); err != nil {
				return err
			}
		}
		old := name(uint64(time.Now().Add(-keptWriters).Unix()))
		_, err = r.query(`delete from waymark_entries where kind = 'w' and substring(record from 9) < $1`, []byte(old))
		if err == nil {
			err = r.exec("commit")
		}
		return err
	})
}

func sqlState(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func unavailable(err error) error { return fmt.Errorf("%w: %w", ErrUnavailable, err) }

// transaction runs f on a connection that began a transaction, and rolls back what f does not commit.
func (p *postgres) transaction(ctx context.Context, begin string, f func(r *pgReader) error) error {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return unavailable(ctx.Err())
	case <-p.closing:
		return ErrClosed
	}
	conn, err := p.begin(ctx, begin)
	if err != nil {
		return unavailable(err)
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if !conn.IsClosed() && conn.TxStatus() != 'I' {
			_, _ = conn.Exec(end, "rollback").ReadAll()
		}
		if conn.IsClosed() || conn.TxStatus() != 'I' {
			_ = conn.Close(end)
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.idle = append(p.idle, conn)
	}()
	return f(&pgReader{ctx: ctx, conn: conn})
}

// begin takes the connection that was used last, or opens one.
func (p *postgres) begin(ctx context.Context, statement string) (conn *pgconn.PgConn, err error) {
	for {
		conn = nil
		p.mu.Lock()
		if n := len(p.idle) - 1; n >= 0 {
			conn, p.idle = p.idle[n], p.idle[:n]
		}
		p.mu.Unlock()
		used := conn != nil
		if !used {
			if conn, err = connect(ctx, p.config); err != nil {
				return nil, err
			}
		}
		if _, err = conn.Exec(ctx, statement).ReadAll(); err == nil {
			return conn, nil
		}
		_ = conn.Close(ctx)
		if !used || ctx.Err() != nil {
			return nil, err
		}
	}
}

func (p *postgres) View(ctx context.Context, f func(Reader) error) error {
	return p.transaction(ctx, "begin isolation level repeatable read read only", func(r *pgReader) error { return f(r) })
}

// A server that lost its client gives up what that one has locked.
const beginWriting = "begin isolation level read committed; set local idle_in_transaction_session_timeout = '15s'"

// Update repeats the transaction where another one was in its way, or the connection was lost. If that happens to a
// commit, it may be stored or not; then the entry of this process tells which: every update writes its number there.
func (p *postgres) Update(ctx context.Context, workspaces []string, f func(Reader) ([]Pair, error)) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	p.updates++
	own := Key{tableWriters, "", p.id}
	sent := false // a commit, of which the outcome is unknown
	return p.repeat(ctx, func(r *pgReader) error {
		if sent {
			if err := r.lock(own.Table, own.Name); err != nil { // and wait for that transaction, if it still runs
				return err
			}
			last, err := r.Get(own)
			if err != nil || number(string(last[0])) == p.updates {
				return err
			}
			sent = false
		}
		if err := r.lock(tableHeads, workspaces...); err != nil {
			return err
		}
		writes, err := f(r)
		if err != nil || len(writes) == 0 {
			return err
		}
		number := []byte(name(p.updates, uint64(time.Now().Unix())))
		if err := r.write(append(writes[:len(writes):len(writes)], Pair{own, number})); err != nil {
			return err
		}
		sent = true
		return r.exec("select pg_notify('waymark', ''); commit")
	})
}

// repeat runs a transaction that writes until it succeeds, or fails for a reason that lasts.
func (p *postgres) repeat(ctx context.Context, f func(r *pgReader) error) error {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	for pause := 10 * time.Millisecond; ; pause *= 2 {
		refused := false // by f itself
		err := p.transaction(ctx, beginWriting, func(r *pgReader) error {
			err := f(r)
			refused = err != nil && r.err == nil
			return cmp.Or(r.err, err)
		})
		if err == nil || refused || !passes(err) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// passes reports whether the same transaction may succeed when it is repeated.
func passes(err error) bool {
	switch code := sqlState(err); code {
	case "": // the connection was lost, or not made
		return !errors.Is(err, ErrClosed)
	case "40001", "40P01", "55P03", "53300": // serialization failure, deadlock, lock timeout, too many connections
		return true
	default: // the server ends or starts, or the connection failed
		return strings.HasPrefix(code, "57") || strings.HasPrefix(code, "08")
	}
}

func (p *postgres) Drop(ctx context.Context, t kind, space, from, to string) error {
	for more := true; more; {
		err := p.repeat(ctx, func(r *pgReader) error {
			rows, err := r.query(statement(t, `with gone as (delete from TABLE where KIND = $1 and workspace = $2 and NAME = any(array(
select NAME from TABLE where KIND = $1 and workspace = $2 and ($3::TYPE is null or NAME >= $3) and ($4::TYPE is null or NAME < $4) order by NAME limit 5000)) returning 1)
select count(*) from gone`), []byte{byte(t)}, []byte(space), bound(t, from), bound(t, to))
			if err != nil {
				return err
			}
			more = number(string(rows[0][0])) > 0
			return r.exec("commit")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *postgres) Shared() bool    { return true }
func (p *postgres) Health() error   { return nil }
func (p *postgres) Writable() error { return nil }

// Wait listens. Its connection reads no entries, so it has no [fence].
func (p *postgres) Wait(ctx context.Context, most time.Duration) {
	p.listening.Lock()
	defer p.listening.Unlock()
	wait, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if p.listener == nil && !p.deaf {
		config := p.config.Copy()
		config.AfterConnect = nil
		if conn, err := connect(ctx, config); err == nil {
			if _, err = conn.Exec(ctx, "listen waymark").ReadAll(); err == nil {
				p.listener = conn
				return // what was written before is not notified
			}
			p.deaf = sqlState(err) != ""
			_ = conn.Close(wait)
		}
	}
	if p.listener != nil && p.listener.WaitForNotification(wait) == nil {
		return
	}
	if p.listener != nil && p.listener.IsClosed() {
		p.listener = nil
	}
	<-wait.Done()
}

// Close waits for transactions under way.
func (p *postgres) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), engineTimeout)
	defer cancel()
	close(p.closing)
	for range postgresConns {
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listening.Lock()
	defer p.listening.Unlock()
	if p.listener != nil {
		p.idle = append(p.idle, p.listener)
	}
	for _, conn := range p.idle {
		_ = conn.Close(ctx) // nothing is under way on it
	}
	return nil
}

// pgReader reads, and writes, in a transaction.
type pgReader struct {
	ctx  context.Context
	conn *pgconn.PgConn
	err  error // the first of the server
}

func (r *pgReader) failed(err error) error {
	if err != nil {
		err = unavailable(err)
		r.err = cmp.Or(r.err, err)
	}
	return err
}

// query runs one statement; parameters and results are binary.
func (r *pgReader) query(statement string, parameters ...[]byte) ([][][]byte, error) {
	result := r.conn.ExecParams(r.ctx, statement, parameters, nil, []int16{1}, []int16{1}).Read()
	return result.Rows, r.failed(result.Err)
}

// exec runs statements without parameters.
func (r *pgReader) exec(statements string) error {
	_, err := r.conn.Exec(r.ctx, statements).ReadAll()
	return r.failed(err)
}

// statement is one for the table that has a kind of entries.
func statement(t kind, text string) string {
	words := []string{"TABLE", "waymark_entries", "KIND", "kind", "KEY", "kind, workspace, name", "NAME", "name", "TYPE", "bytea"}
	if t == tableEvents {
		words = []string{"TABLE", "waymark_events", "KIND", `'e'::"char"`, "KEY", "workspace, position", "NAME", "position", "TYPE", "bigint"}
	}
	return strings.NewReplacer(words...).Replace(text)
}

// bound is the end of a range of names as a parameter; nil is none. Positions are bigint, which is a name of 8 bytes.
func bound(t kind, name string) []byte {
	if t == tableEvents && name != "" {
		name = (name + "\x00\x00\x00\x00\x00\x00\x00\x00")[:8]
	}
	if name == "" {
		return nil
	}
	return []byte(name)
}

func (r *pgReader) Now() (time.Time, error) {
	rows, err := r.query("select (extract(epoch from clock_timestamp()) * 1000000)::bigint")
	if err != nil {
		return time.Time{}, err
	}
	return time.UnixMicro(int64(number(string(rows[0][0])))), nil
}

// columns are the keys and values of entries, as arrays in the binary format.
type columns struct{ kinds, spaces, names, values [][]byte }

func (c *columns) add(p Pair) {
	c.kinds, c.spaces = append(c.kinds, []byte{byte(p.Table)}), append(c.spaces, []byte(p.Space))
	c.names, c.values = append(c.names, []byte(p.Name)), append(c.values, p.Value)
}

// arrays are the parameters of a statement about these entries of the table for t.
func (c *columns) arrays(t kind) [][]byte {
	names := uint32(oidBytea)
	if t == tableEvents {
		names = oidBigint
	}
	return [][]byte{array(oidChar, c.kinds), array(oidText, c.spaces), array(names, c.names), array(oidBytea, c.values)}
}

// array is one as the server takes it: dimensions, whether there are nulls, type; length and first index; then each
// value with its length before it.
func array(oid uint32, values [][]byte) (b []byte) {
	for _, v := range []uint32{1, 0, oid, uint32(len(values)), 1} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	for _, v := range values {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
	}
	return b
}

func (r *pgReader) Get(keys ...Key) ([][]byte, error) {
	values := make([][]byte, len(keys))
	for _, t := range []kind{tableEvents, tableHeads} {
		var wanted columns
		var places []int
		for i, k := range keys {
			if (k.Table == tableEvents) == (t == tableEvents) {
				wanted.add(Pair{Key: k})
				places = append(places, i)
			}
		}
		if len(places) == 0 {
			continue
		}
		rows, err := r.query(statement(t, `select i, record from unnest($1::"char"[], $2::text[], $3::TYPE[]) with ordinality as t(k, w, n, i)
join TABLE on KIND = k and workspace = w and NAME = n`), wanted.arrays(t)[:3]...)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if i := places[number(string(row[0]))-1]; len(row[1]) > 0 || keys[i].Table != tableHeads {
				values[i] = row[1]
			}
		}
	}
	return values, nil
}

// Scan reads pages of at most pageBytes and one entry.
func (r *pgReader) Scan(t kind, space, from, to string) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		for more, after := true, ">="; more; after = ">" {
			rows, err := r.query(statement(t, fmt.Sprintf(`select NAME, record from (
select NAME, record, sum(length(record)) over (order by NAME) - length(record) as before from TABLE
where KIND = $1 and workspace = $2 and ($3::TYPE is null or NAME %s $3) and ($4::TYPE is null or NAME < $4) order by NAME limit %d
) page where before < %d order by NAME`, after, pageEntries, pageBytes)), []byte{byte(t)}, []byte(space), bound(t, from), bound(t, to))
			if err != nil {
				yield(Pair{}, err)
				return
			}
			size := 0
			for _, row := range rows {
				from, size = string(row[0]), size+len(row[1])
				if placeholder := t == tableHeads && len(row[1]) == 0; !placeholder && !yield(Pair{Key{t, space, from}, row[1]}, nil) {
					return
				}
			}
			more = len(rows) == pageEntries || size >= pageBytes
		}
	}
}

// lock locks entries until the transaction ends. It makes those that are missing, without a value: there must be
// something to lock. No value is no header.
func (r *pgReader) lock(t kind, names ...string) error {
	var c columns
	for _, name := range names {
		c.add(Pair{Key: Key{t, "", name}})
	}
	if len(names) == 0 {
		return nil
	}
	_, err := r.query(`insert into waymark_entries (kind, workspace, name, record)
select k, '', n, '' from unnest($1::"char"[], $2::bytea[]) as t(k, n) order by n
on conflict (kind, workspace, name) do update set record = '' where false`, array(oidChar, c.kinds), array(oidBytea, c.names))
	return err
}

func (r *pgReader) write(writes []Pair) error {
	for _, t := range []kind{tableEvents, tableHeads} {
		var set, gone columns
		for _, w := range writes {
			switch {
			case (w.Table == tableEvents) != (t == tableEvents):
			case w.Value == nil:
				gone.add(w)
			default:
				set.add(w)
			}
		}
		if len(set.kinds) > 0 {
			if _, err := r.query(statement(t, `insert into TABLE (KEY, record) select KEY, record
from unnest($1::"char"[], $2::text[], $3::TYPE[], $4::bytea[]) as t(kind, workspace, NAME, record)
on conflict (KEY) do update set record = excluded.record`), set.arrays(t)...); err != nil {
				return err
			}
		}
		if len(gone.kinds) > 0 {
			if _, err := r.query(statement(t, `delete from TABLE using unnest($1::"char"[], $2::text[], $3::TYPE[]) as t(k, w, n)
where KIND = k and workspace = w and NAME = n`), gone.arrays(t)[:3]...); err != nil {
				return err
			}
		}
	}
	return nil
}

// RestorePostgres fills the database at an address, which must have no entries, from a backup. Until the last byte
// of the backup and every log in the database have been verified nobody can open it; after an error it is to be
// restored again.
func RestorePostgres(ctx context.Context, in io.Reader, address string, opts Options) (summary BackupSummary, err error) {
	defer func() {
		if err != nil {
			summary, err = BackupSummary{}, fmt.Errorf("restore into %s: %w", PostgresName(address), err)
		}
	}()
	e, err := openPostgres(ctx, address, opts)
	if err != nil {
		return summary, err
	}
	err = e.transaction(ctx, "begin", func(r *pgReader) error {
		mark, err := r.Get(restoring)
		if err != nil {
			return err
		}
		rows, err := r.query("select exists(select from waymark_events) or exists(select from waymark_entries where kind <> 'w')")
		if err == nil && mark[0] == nil && rows[0][0][0] != 0 {
			return errors.New("the database is not empty")
		}
		if err == nil {
			err = r.exec("delete from waymark_events; delete from waymark_entries")
		}
		if err == nil {
			err = r.write([]Pair{{restoring, []byte{1}}})
		}
		if err == nil {
			err = r.exec("commit")
		}
		return err
	})
	if err == nil {
		summary, err = restore(ctx, in, e)
	}
	if err != nil {
		return summary, errors.Join(err, e.Close())
	}
	s, err := New(ctx, e, opts)
	if err != nil {
		return summary, err
	}
	if err = s.verify(ctx); err == nil {
		err = e.Update(ctx, nil, func(Reader) ([]Pair, error) { return []Pair{{Key: restoring}}, nil })
	}
	return summary, errors.Join(err, s.Close())
}
