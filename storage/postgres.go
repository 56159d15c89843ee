package storage

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"math"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// postgres keeps all entries in one table, which several processes share. The name of an event is its position, so
// the primary key of an event is its workspace and position.
//
// An update first takes an advisory lock for each of its workspaces. So updates of one workspace run one after the
// other, and each reads everything that was committed before it.
type postgres struct {
	pool *pgxpool.Pool
	id   string // of this process
}

const postgresTable = `create table if not exists waymark_entries (workspace text collate "C" not null,
  kind text collate "C" not null, name bytea not null, record bytea not null, primary key (workspace, kind, name))`

// postgresConnect is how long one server of the address may take to accept a connection, unless
// the address sets connect_timeout.
const postgresConnect = 2 * time.Second

// Name returns a directory unchanged, and the address of a database without user, password and parameters.
func Name(where string) string {
	scheme, rest, address := strings.Cut(where, "://")
	if !address {
		return where
	}
	rest, _, _ = strings.Cut(rest, "?")
	return scheme + "://" + rest[strings.LastIndex(rest, "@")+1:]
}

// openPostgres opens the database at an address, and creates its table if it is missing. No error contains the
// password.
func openPostgres(ctx context.Context, address string) (*postgres, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, errors.New("the address is not of the form postgres://user:password@host:port/database?parameter=value")
	}
	config.ConnConfig.ConnectTimeout = cmp.Or(config.ConnConfig.ConnectTimeout, postgresConnect)
	config.ConnConfig.DialFunc = onlyToConnect(config.ConnConfig.DialFunc)
	config.MaxConns = max(config.MaxConns, 4)
	// No cached generic plans: one made while the table was empty scans it sequentially.
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		ctx, cancel := context.WithTimeout(ctx, engineTimeout)
		defer cancel()
		_, err := conn.Exec(ctx, fence)
		return err
	}
	p := &postgres{id: rand.Text()}
	if p.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	if err := p.prepare(ctx); err != nil {
		p.pool.Close()
		var refused *pgconn.PgError // wrong password, user or database
		if errors.As(err, &refused) && slices.Contains([]string{"28P01", "28000", "3D000"}, refused.Code) {
			err = fmt.Errorf("the database server refuses the connection: %s (%s)", refused.Message, refused.Code)
		}
		return nil, err
	}
	return p, nil
}

// fence is a statement that waits until the synchronous standby has every visible transaction. After a restart of the
// primary, or the loss of a connection, transactions can be visible that still wait for the standby. They must be
// neither read nor acknowledged while a failover can lose them.
const fence = `select case when pg_is_in_recovery() then null else pg_logical_emit_message(true, 'waymark', '') end`

type connecting struct{}

// onlyToConnect rejects the connections by which pgx asks the server to cancel an abandoned statement. A cancelled
// commit that waits for a synchronous standby becomes visible on the primary alone; without the request it stays
// invisible until the standby has it.
func onlyToConnect(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if ctx.Value(connecting{}) == nil {
			return nil, errors.New("statements are not cancelled")
		}
		return dial(ctx, network, address)
	}
}

// prepare rejects a server that can lose acknowledged data, and creates the table if it is missing.
func (p *postgres) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	return p.transaction(ctx, pgx.TxOptions{}, func(r *pgReader) error {
		var standby, missing bool
		var lossy string
		err := r.tx.QueryRow(ctx, `select pg_is_in_recovery(), to_regclass('waymark_entries') is null, coalesce(
(select string_agg(name || ' = ' || setting, ', ') from pg_settings where setting = 'off' and
name in ('fsync', 'full_page_writes', 'synchronous_commit') or name = 'synchronous_commit' and setting = 'local'
and current_setting('synchronous_standby_names') <> ''), '')`).Scan(&standby, &missing, &lossy)
		switch {
		case err != nil:
			return err
		case standby:
			return errors.New("the server is a standby; name the primary, or all servers with target_session_attrs=read-write")
		case lossy != "":
			return fmt.Errorf("the server has %s and can lose acknowledged data; change that", lossy)
		}
		if missing { // creating a table needs a privilege that the user of the program may lack later
			// Two processes that start at once would both find that the table is missing.
			_, err = r.exec("select pg_advisory_xact_lock(hashtext('waymark')); " + postgresTable)
		}
		return cmp.Or(err, r.commit())
	})
}

// transaction runs f in a transaction, and rolls back unless f commits.
func (p *postgres) transaction(ctx context.Context, opts pgx.TxOptions, f func(*pgReader) error) error {
	begin, cancel := context.WithTimeout(context.WithValue(ctx, connecting{}, true), engineTimeout)
	defer cancel()
	tx, err := p.pool.BeginTx(begin, opts)
	// Idle connections may be broken, also the one that was tried.
	for idle := p.pool.Stat().IdleConns(); err != nil && idle >= 0 && begin.Err() == nil; idle-- {
		tx, err = p.pool.BeginTx(begin, opts)
	}
	if err != nil {
		return unavailable(err)
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = tx.Rollback(end) // no effect after a commit; a connection on which it fails is closed
	}()
	return f(&pgReader{ctx, tx})
}

func (p *postgres) View(ctx context.Context, f func(Reader) error) error {
	opts := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return p.transaction(ctx, opts, func(r *pgReader) error { return f(r) })
}

// Update repeats a transaction that conflicts with another one or loses its connection. If the connection is lost
// during the commit, the next attempt takes the locks and then reads whether the commit succeeded. Without a workspace
// there is no lock, so the writes may be repeated.
func (p *postgres) Update(ctx context.Context, workspaces []string, f func(Reader) ([]Pair, error)) error {
	sent := false // a commit was sent, but its answer was not received
	// The transaction also writes a random value, by which a later attempt recognises its commit.
	proof := Pair{Key{tableMarks, "", "commit/" + p.id}, []byte(rand.Text())}
	return p.repeat(ctx, func(r *pgReader) error {
		// A server that lost its client releases the locks after 15 seconds.
		_, err := r.exec(`select set_config('lock_timeout', '5s', true), set_config('idle_in_transaction_session_timeout', '15s', true),
(select count(pg_advisory_xact_lock(hashtextextended(w, 0))) from unnest($1::text[]) w)`, workspaces)
		if err == nil && sent {
			var last [][]byte
			if last, err = r.Get(proof.Key); err == nil && string(last[0]) == string(proof.Value) {
				_, err = r.exec(fence)
				return cmp.Or(err, r.commit())
			}
		}
		if err != nil {
			return err
		}
		writes, err := f(r)
		if err != nil || len(writes) == 0 {
			return err
		}
		if err := r.write(append(writes[:len(writes):len(writes)], proof)); err != nil {
			return err
		}
		sent = true
		return r.commit()
	})
}

// repeat runs a write transaction until it succeeds, fails with an error that is not
// transient, or engineTimeout is over.
func (p *postgres) repeat(ctx context.Context, f func(*pgReader) error) error {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval = 10 * time.Millisecond
	var last error
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		if last = p.transaction(ctx, pgx.TxOptions{}, f); last != nil && !transient(last) {
			return struct{}{}, backoff.Permanent(last)
		}
		return struct{}{}, last
	}, backoff.WithBackOff(wait), backoff.WithMaxElapsedTime(engineTimeout))
	if err == nil {
		return nil
	}
	return last
}

// transient reports whether the same transaction may succeed when it is repeated.
func transient(err error) bool {
	if !errors.Is(err, ErrUnavailable) {
		return false // not an error of the server
	}
	switch code := sqlState(err); code {
	case "", "40001", "40P01", "55P03", "53300": // no connection; serialization, deadlock, lock timeout, connection limit
		return true
	default: // the server ends or starts, or the connection failed
		return strings.HasPrefix(code, "57") || strings.HasPrefix(code, "08")
	}
}

func sqlState(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func unavailable(err error) error {
	switch {
	case err == nil:
		return nil
	case sqlState(err) == "53100":
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

func (p *postgres) Drop(ctx context.Context, t kind, space, from, to string) error {
	for more := true; more; {
		err := p.repeat(ctx, func(r *pgReader) error {
			n, err := r.exec(`delete from waymark_entries where workspace = $1 and kind = $2 and name = any(array(select name
from waymark_entries where workspace = $1 and kind = $2 and name >= $3 and ($4::bytea is null or name < $4) limit 5000))`,
				space, t.String(), []byte(from), bound(to))
			more = n > 0
			return cmp.Or(err, r.commit())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *postgres) clear(ctx context.Context) error {
	return p.repeat(ctx, func(r *pgReader) error {
		_, err := r.exec("delete from waymark_entries")
		return cmp.Or(err, r.commit())
	})
}

func (p *postgres) Shared() bool    { return true }
func (p *postgres) Writable() error { return nil }

// Close waits for transactions that have begun.
func (p *postgres) Close() error {
	p.pool.Close()
	return nil
}

// pgReader reads and writes in a transaction. Its errors wrap [ErrUnavailable].
type pgReader struct {
	ctx context.Context
	tx  pgx.Tx
}

func (r *pgReader) exec(statement string, args ...any) (rows int64, err error) {
	ctx, cancel := context.WithTimeout(r.ctx, engineTimeout)
	defer cancel()
	tag, err := r.tx.Exec(ctx, statement, args...)
	return tag.RowsAffected(), unavailable(err)
}

func (r *pgReader) commit() error { return unavailable(r.tx.Commit(r.ctx)) }

func (r *pgReader) Now() (now time.Time, err error) {
	err = r.tx.QueryRow(r.ctx, "select clock_timestamp()").Scan(&now)
	return now, unavailable(err)
}

// columns holds entries as the array parameters of a statement.
type columns struct {
	spaces, kinds []string
	names, values [][]byte
}

func (c *columns) add(p Pair) {
	c.spaces, c.kinds = append(c.spaces, p.Space), append(c.kinds, p.Table.String())
	c.names, c.values = append(c.names, []byte(p.Name)), append(c.values, p.Value)
}

func (r *pgReader) Get(keys ...Key) ([][]byte, error) {
	var c columns
	for _, k := range keys {
		c.add(Pair{Key: k})
	}
	ctx, cancel := context.WithTimeout(r.ctx, engineTimeout)
	defer cancel()
	rows, err := r.tx.Query(ctx, `select i, record from unnest($1::text[], $2::text[], $3::bytea[]) with ordinality as t(w, k, n, i)
join waymark_entries on (workspace, kind, name) = (w, k, n)`, c.spaces, c.kinds, c.names)
	values := make([][]byte, len(keys))
	var i int
	var record []byte
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&i, &record}, func() error { values[i-1] = record; return nil })
	}
	return values, unavailable(err)
}

// scanRows and scanParts are the numbers of entries read at once; a part of a snapshot has half a megabyte.
const scanRows, scanParts = 100, 8

func (r *pgReader) Scan(t kind, space, from, to string) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		limit := scanRows
		switch t {
		case tableParts:
			limit = scanParts
		case tableHeads: // a store polls all of them several times a second
			limit = math.MaxInt32
		}
		for n := limit; n == limit; {
			page, err := r.page(t, space, from, to, limit)
			for _, p := range page {
				if !yield(p, nil) {
					return
				}
				from = p.Name + "\x00"
			}
			if n = len(page); err != nil {
				yield(Pair{}, unavailable(err))
				return
			}
		}
	}
}

func (r *pgReader) page(t kind, space, from, to string, limit int) (page []Pair, err error) {
	ctx, cancel := context.WithTimeout(r.ctx, engineTimeout)
	defer cancel()
	rows, err := r.tx.Query(ctx, `select name, record from waymark_entries where workspace = $1 and kind = $2 and name >= $3
and ($4::bytea is null or name < $4) order by name limit $5`, space, t.String(), []byte(from), bound(to), limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Pair, error) {
		var name, record []byte
		err := row.Scan(&name, &record)
		return Pair{Key{t, space, string(name)}, record}, err
	})
}

// bound returns the exclusive end of a range of names; nil means no end.
func bound(to string) []byte {
	if to == "" {
		return nil
	}
	return []byte(to)
}

func (r *pgReader) write(writes []Pair) error {
	var set, gone columns
	for _, w := range writes {
		if w.Value == nil {
			gone.add(w)
		} else {
			set.add(w)
		}
	}
	var b pgx.Batch
	b.Queue(`insert into waymark_entries (workspace, kind, name, record) select * from unnest($1::text[], $2::text[], $3::bytea[],
$4::bytea[]) on conflict (workspace, kind, name) do update set record = excluded.record`, set.spaces, set.kinds, set.names, set.values)
	if len(gone.names) > 0 {
		b.Queue(`delete from waymark_entries using unnest($1::text[], $2::text[], $3::bytea[]) as t(w, k, n)
where (workspace, kind, name) = (w, k, n)`, gone.spaces, gone.kinds, gone.names)
	}
	return unavailable(r.tx.SendBatch(r.ctx, &b).Close())
}
