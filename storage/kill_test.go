package storage

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The kill test needs a process to kill. This binary is one when killDir is set.
const killDir, killSeed, noSync = "WAYMARK_KILL_DIR", "WAYMARK_KILL_SEED", "WAYMARK_KILL_NO_SYNC"

func TestMain(m *testing.M) {
	syncWrites = os.Getenv(noSync) == ""
	if dir := os.Getenv(killDir); dir != "" {
		writeUntilKilled(dir, os.Getenv(killSeed))
	}
	if dir := os.Getenv("WAYMARK_FULL_DIR"); dir != "" {
		writeUntilFull(dir)
	}
	if dirs := os.Getenv(openDirs); dirs != "" {
		openEach(filepath.SplitList(dirs))
	}
	os.Exit(m.Run())
}

// writeUntilKilled appends from four writers and prints a line for every event that was
// acknowledged: workspace, seq, key. A fifth writes snapshots. A line is one write, so it is printed
// whole or not at all.
func writeUntilKilled(dir, seed string) {
	b, err := Open(dir, Options{Logger: quiet})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			workspace := []string{"a", "b"}[w%2]
			l, err := b.Log(workspace)
			for i := 0; err == nil; i++ {
				records := make([]Record, 1+i%3)
				for j := range records {
					key := fmt.Sprintf("%s-%d-%d-%d", seed, w, i, j)
					records[j] = Record{Key: key, Payload: killPayload(key)}
				}
				var receipts []Receipt
				receipts, err = l.Append(context.Background(), records)
				for j, r := range receipts {
					fmt.Fprintf(os.Stdout, "ack %s %d %s\n", workspace, r.Seq, records[j].Key)
				}
			}
			fmt.Println("error", err)
		})
	}
	wg.Go(func() {
		l, err := b.Log("a")
		for err == nil {
			seq := l.Head().Seq
			if err = putBytes(context.Background(), l, seq, killSnapshot(seq)); err == nil {
				fmt.Fprintf(os.Stdout, "ack snapshot %d -\n", seq)
			}
		}
		fmt.Println("error", err)
	})
	wg.Wait()
	os.Exit(1)
}

func killPayload(key string) []byte {
	return fmt.Append(make([]byte, 0, 600), key, string(make([]byte, 500)))
}

func killSnapshot(seq uint64) []byte {
	return bytes.Repeat(binary.BigEndian.AppendUint64(nil, seq), 3*snapshotChunk/16)
}

// A process is killed while it writes, again and again on one directory. After each kill every event
// it acknowledged is there, with its payload, at its seq; the log is dense and the chain holds
// (Open verifies both). The last snapshot it acknowledged, or a later one, is there whole, and no file
// that is none. This sees what a process loses, not what a power cut loses.
func TestKill(t *testing.T) {
	rounds := 10
	if s := os.Getenv("WAYMARK_KILL_ROUNDS"); s != "" {
		var err error
		rounds, err = strconv.Atoi(s)
		require.NoError(t, err)
	} else if testing.Short() {
		rounds = 3
	}
	const seed = 20
	r := rand.New(rand.NewPCG(seed, 0))
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	acked := make(map[string]string) // "workspace seq" → key
	newest := uint64(0)              // snapshot acknowledged
	earlier := 0                     // events acknowledged in earlier directories
	for round := range rounds {
		if round%100 == 99 { // a new directory, since every start reads the whole log
			earlier += len(acked)
			dir, acked, newest = t.TempDir(), make(map[string]string), 0
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), killDir+"="+dir, killSeed+"="+strconv.Itoa(round))
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		delay := time.Duration(r.IntN(120)) * time.Millisecond
		lines := bufio.NewScanner(out)
		count := 0
		for lines.Scan() {
			var workspace, key string
			var seq uint64
			if _, err := fmt.Sscanf(lines.Text(), "ack %s %d %s", &workspace, &seq, &key); err != nil {
				t.Fatalf("seed %d, round %d: writer says %q", seed, round, lines.Text())
			}
			if workspace == "snapshot" {
				newest = seq
			} else {
				acked[fmt.Sprint(workspace, " ", seq)] = key
			}
			if count++; count == 1 { // from the first acknowledgement on
				time.AfterFunc(delay, func() { cmd.Process.Kill() })
			}
		}
		require.Error(t, cmd.Wait(), "it was killed")
		require.Positive(t, count)

		b, err := Open(dir, Options{Logger: quiet})
		require.NoError(t, err, "seed %d, round %d", seed, round)
		found := 0
		for _, workspace := range []string{"a", "b"} {
			for i, e := range collect(t, mustLog(t, b, workspace).Read(t.Context(), 0)) {
				require.EqualValues(t, i+1, e.Seq)
				if key, ok := acked[fmt.Sprint(workspace, " ", e.Seq)]; ok {
					require.Equal(t, string(killPayload(key)), string(e.Payload))
					found++
				}
			}
		}
		require.Equal(t, len(acked), found, "seed %d, round %d: acknowledged events are lost", seed, round)
		snapshots := collect(t, mustLog(t, b, "a").Snapshots(t.Context()))
		for _, s := range snapshots {
			require.True(t, bytes.Equal(killSnapshot(s.Seq), s.Data))
		}
		require.Len(t, names(t, filepath.Join(dir, "snapshots", "w-a")), len(snapshots))
		if newest > 0 {
			require.NotEmpty(t, snapshots)
			require.GreaterOrEqual(t, snapshots[0].Seq, newest)
		}
		require.NoError(t, b.Health())
		require.NoError(t, b.Close())
	}
	t.Logf("seed %d: %d kills, %d acknowledged events, 0 lost; with 95 %% confidence fewer than %.2g of the kills lose one (Clopper-Pearson)",
		seed, rounds, earlier+len(acked), upperBound(rounds, 0.05))
}

// upperBound is the one-sided Clopper-Pearson bound of the share of failures where none of n trials failed.
func upperBound(n int, alpha float64) float64 { return 1 - math.Pow(alpha, 1/float64(n)) }
