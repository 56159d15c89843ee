package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"waymark/run"
	"waymark/storage"
)

// spread is the time at which half of the calls had ended, and 99 of 100.
type spread struct{ p50, p99 time.Duration }

// steadily makes n calls of each kind at 200 a second, whether or not the ones before have ended. All kinds
// take turns, so that whatever else the machine does meets all of them.
func steadily(n int, kinds ...func() error) (spreads []spread, err error) {
	times := make([][]time.Duration, len(kinds))
	errs := make([]error, n*len(kinds))
	var all sync.WaitGroup
	ticks := time.NewTicker(5 * time.Millisecond / time.Duration(len(kinds)))
	defer ticks.Stop()
	for k := range kinds {
		times[k] = make([]time.Duration, n)
	}
	for i := range n {
		for k, call := range kinds {
			<-ticks.C
			all.Go(func() {
				began := time.Now()
				errs[i*len(kinds)+k] = call()
				times[k][i] = time.Since(began)
			})
		}
	}
	all.Wait()
	for _, t := range times {
		slices.Sort(t)
		spreads = append(spreads, spread{t[n/2], t[n*99/100]})
	}
	return spreads, errors.Join(errs...)
}

// report reports the spread in the middle of all, and returns it.
func report(b *testing.B, name string, all []spread) spread {
	slices.SortFunc(all, func(a, b spread) int { return int(a.p99 - b.p99) })
	middle := all[len(all)/2]
	b.ReportMetric(middle.p50.Seconds()*1000, name+"_p50_ms")
	b.ReportMetric(middle.p99.Seconds()*1000, name+"_p99_ms")
	return middle
}

func benchGateway(b *testing.B, roles ...string) *Gateway {
	store := storage.NewMemory()
	b.Cleanup(func() { require.NoError(b, store.Close()) })
	g, err := Open(b.Context(), Options{Table: store.Table("bench"), CallTimeout: 2 * time.Second})
	require.NoError(b, err)
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		require.NoError(b, g.Close(ctx))
	})
	var defs []Definition
	for _, role := range roles {
		d := definition(role)
		require.NoError(b, g.Agree(b.Context(), role, d.Digest()))
		defs = append(defs, d)
	}
	require.NoError(b, g.Connect(defs))
	for _, role := range roles {
		for server(g, role).State != Ready {
			time.Sleep(time.Millisecond)
		}
	}
	return g
}

func echoing(ctx context.Context, g *Gateway) func() error {
	return func() error {
		r, err := g.Call(ctx, run.Call{Tool: "good:echo", Arguments: json.RawMessage(`{"text":"x"}`)})
		if err == nil && r.Failure != "" {
			err = errors.New(r.Message)
		}
		return err
	}
}

// What the gateway adds to a call of a server that is a child, beside the SDK's own client to the same
// server: the floor is 3 ms at the 99th of 100 at 200 calls a second.
func BenchmarkOverhead(b *testing.B) {
	g := benchGateway(b, "good")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=good")
	direct, err := mcp.NewClient(&mcp.Implementation{Name: "direct"}, nil).Connect(b.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	require.NoError(b, err)
	defer direct.Close()
	plain := func() error {
		_, err := direct.CallTool(b.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "x"}})
		return err
	}
	_, err = steadily(20, plain, echoing(b.Context(), g)) // to get warm
	require.NoError(b, err)
	var through, beside []spread
	for b.Loop() {
		s, err := steadily(400, plain, echoing(b.Context(), g))
		require.NoError(b, err)
		beside, through = append(beside, s[0]), append(through, s[1])
	}
	without, with := report(b, "direct", beside), report(b, "gateway", through)
	b.ReportMetric((with.p99-without.p99).Seconds()*1000, "added_p99_ms")
}

// What servers that misbehave do to a call of one that does not: the floor is twice the time.
func BenchmarkIsolation(b *testing.B) {
	misbehaving := []string{"storm", "pings", "huge", "drip", "hang", "exit", "noise"}
	g := benchGateway(b, append(misbehaving, "good")...)
	var quiet, beside []spread
	for b.Loop() {
		alone := benchGateway(b, "good")
		_, err := steadily(20, echoing(b.Context(), alone)) // to get warm
		require.NoError(b, err)
		s, err := steadily(400, echoing(b.Context(), alone))
		require.NoError(b, err)
		quiet = append(quiet, s...)
		ctx, stop := context.WithCancel(b.Context())
		var others sync.WaitGroup
		for _, role := range misbehaving {
			others.Go(func() {
				for ctx.Err() == nil {
					_, _ = g.Call(ctx, run.Call{Tool: role + ":go"})
					time.Sleep(250 * time.Millisecond)
				}
			})
		}
		s, err = steadily(400, echoing(b.Context(), g))
		stop()
		others.Wait()
		require.NoError(b, err)
		beside = append(beside, s...)
	}
	alone := report(b, "alone", quiet)
	with := report(b, "beside", beside)
	b.ReportMetric(float64(with.p99)/float64(alone.p99), "p99_ratio")
}
