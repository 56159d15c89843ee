// Command faults runs the tests of faults and prints one table: what was done, how far it went, and what was wanted.
// It exits 1 if one fails, and names what was skipped with the reason.
//
//	go run ./lab/faults               the short forms
//	go run ./lab/faults -long         the long forms; -kills sets the rounds of each kill loop
//	go run ./lab/faults -from FILE    the table alone, from a run of all tests that -keep has kept
//
// With -keep FILE it reads what go test -json prints, keeps it, and prints it as go test does without -json.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// row is one line of the table. Its tests are asked for as go test does.
type row struct {
	fault, pkg, tests string
	long              []string // environment of the long form
	target            string
}

func rows(kills int) []row {
	loop := []string{fmt.Sprint("WAYMARK_KILL_ROUNDS=", kills)}
	return []row{
		{"kill -9 of a writing store", "./storage", "TestKill", loop, "0 acknowledged events lost"},
		{"kill -9 of a recording server", "./record", "TestKill", loop, "0 lost"},
		{"kill -9 during runs", "./server", "TestKillDuringRuns", loop, "no step twice, 0 lost"},
		{"power cut", "./storage", "TestPowerCut", []string{"WAYMARK_CUTS=100"}, "0 lost; some without syncing"},
		{"damaged files", "./storage", "TestDamage.*|TestDamagedSnapshot|TestNothingLeftButSnapshots", []string{"WAYMARK_DAMAGES=20"}, "0 silent, 0 deaths"},
		{"n-th operation on a file fails", "./storage", "TestNthCallFails|TestFailedCommit", []string{"WAYMARK_NTH=all"}, "0 lost, opens again"},
		{"full disk", "./storage", "TestDiskFilledByAnother|TestSpaceGuard|TestSnapshotSpaceGuard", nil, "refused, read on, 0 deaths"},
		{"readiness", "./server", "TestReadinessIsAboutWrites", nil, "503 exactly while writes are refused"},
		{"changed backups, backup under load", "./storage", "TestDamagedBackup|TestBackupUnderLoad", nil, "all refused; restored equal"},
		{"purge, cut short as well", "./storage", "TestPurge.*", nil, "no byte left, 0 lost"},
		{"slow and greedy clients", "./server", "TestBodiesAreShared|TestSlowBodiesAreCutOff|TestSessionsAndStreamsAreShared|TestRateLimit", nil, "429 or 503; others answered"},
		{"load beside a control server", "./cmd/waymark", "TestLoad", []string{"WAYMARK_LOAD_TIME=10m"}, "0 errors, 0 lost; long: p99, memory"},
		{"more requests than can be answered", "./cmd/waymark", "TestOverload", []string{"WAYMARK_LOAD_TIME=10m"}, "200, 429, 503; long: p99 as before"},
		{"attacks of one client on another", "./cmd/waymark", "TestAttacksOnOthers", []string{"WAYMARK_LOAD_TIME=10m"}, "0 errors; long: p99"},
		{"faults of other servers", "./gateway", "TestFaults.*|TestDamagedPins", nil, "marked failed, slot freed"},
		{"faults of judges", "./score/judge", "TestOutcomes|TestTimeoutIsNoRefusal|TestRetriesHearRetryAfter|TestBudget|TestCircuit", nil, "an answer within the budget"},
		{"faults of embedding endpoints", "./live", "TestAHangingEndpointHoldsNothingUp", nil, "nothing waits"},
		{"steps of the clock", "./live", "TestClockSteps", nil, "finite scores, equal replay"},
		{"shutdown with work in flight", "./server", "TestRequestsInFlightAtShutdown|TestShutdown", nil, "ends in time"},
		{"shutdown of runs", "./run", "TestShutdownAndResume", nil, "resumed, no step twice"},
		{"poisoning by one key", "./suggest", "TestOneKey.*", nil, "not promoted, not buried"},
		{"same bits on any number of processors", "./graph", ".*OnAnyNumberOf.*", nil, "equal"},
		{"random operations beside a map", "./storage", "TestModel", nil, "equal backups"},
		{"random histories beside a map", "./live", "TestAgainstAMap", []string{"WAYMARK_MAPS=20000"}, "equal verdicts, episodes, counts"},
		{"replicas on a log with faults, simulated", "./live", "TestSimulatedFleets|TestSimulationFindsFaults", []string{"WAYMARK_SEEDS=100000"}, "equal models, each write once"},
		{"histories of the engines of the log", "./storage/eventlog", "TestHistories.*", []string{"WAYMARK_HISTORY_ROUNDS=20"}, "linearizable"},
		{"replicas on NATS, the node and a replica end", "./live", "TestReplicasOnNATS", nil, "0 lost, 0 twice, equal models"},
		{"servers, NATS and PostgreSQL, as processes: killed, stopped, cut off", "./cmd/waymark", "TestSoak|TestLostAndTwice", []string{"WAYMARK_SOAK=10m"}, "0 lost, 0 twice, equal models"},
		{"primary of PostgreSQL ends, standby takes over", "./storage/eventlog", "TestStandbyTakesOver|TestNothingIsStoredWithoutTheStandby", nil, "0 lost"},
		{"runs of a replica that ends", "./server", "TestRunsAreTakenOver", nil, "no step twice"},
		{"random operations beside a replay", "./live", "TestWhateverHappens", nil, "equal answers"},
	}
}

// elsewhere is what is part of the plan of tests and runs by another command.
var elsewhere = []string{
	"hostile inputs over every way in, races, leaks of goroutines: make test",
	"fuzz targets: make fuzz",
	"known vulnerabilities: make vulncheck, which needs the net or VULNDB",
}

type outcome struct {
	passed, failed, skipped int
	figures, reasons        []string
	output                  strings.Builder
	seconds                 float64
}

func main() {
	long := flag.Bool("long", false, "run the long forms")
	kills := flag.Int("kills", 500, "rounds of each kill loop in the long form")
	from := flag.String("from", "", "a `file` that -keep has written: print its table and run nothing")
	keep := flag.String("keep", "", "read the output of go test -json, keep it in this `file`, and print it for people")
	flag.Parse()
	ok, err := false, error(nil)
	switch {
	case *keep != "":
		ok, err = show(os.Stdout, os.Stdin, *keep)
	case *from != "":
		var kept []byte
		if kept, err = os.ReadFile(*from); err == nil {
			ok = table(os.Stdout, rows(*kills), func(r row) (*outcome, error) { return r.read(bytes.NewReader(kept)) })
		}
	default:
		ok = table(os.Stdout, rows(*kills), func(r row) (*outcome, error) { return r.run(*long) })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
	}
	if !ok {
		os.Exit(1)
	}
}

func table(w io.Writer, all []row, of func(row) (*outcome, error)) bool {
	ok := true
	var skipped []string
	fmt.Fprintln(w, "| fault | target | result | seconds |\n|---|---|---|--:|")
	for _, r := range all {
		o, err := of(r)
		result := "held"
		switch {
		case err != nil || o.failed > 0 || o.passed+o.skipped == 0:
			ok, result = false, "FAILED"
		case o.passed == 0:
			result = "skipped"
		}
		if len(o.figures) > 0 {
			result += ": " + strings.Join(o.figures, "; ")
		}
		fmt.Fprintf(w, "| %s | %s | %s | %.0f |\n", r.fault, r.target, result, o.seconds)
		if strings.HasPrefix(result, "FAILED") {
			fmt.Fprintf(os.Stderr, "%s: go test -run '^(%s)$' %s\n%s\n%v\n", r.fault, r.tests, r.pkg, o.output.String(), err)
		}
		for _, reason := range o.reasons {
			skipped = append(skipped, r.fault+": "+reason)
		}
	}
	fmt.Fprintln(w, "\nskipped here:")
	for _, s := range append(skipped, elsewhere...) {
		fmt.Fprintln(w, "-", s)
	}
	return ok
}

// event is one line of go test -json. A build that fails has no package, but an import path.
type event struct {
	Action, Package, Test, Output string
	ImportPath                    string
	Elapsed                       float64
}

func events(r io.Reader, each func(event, []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			e = event{Action: "output", Output: lines.Text() + "\n"} // of go itself
		}
		if err := each(e, lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// show prints one line for each package, and of tests that failed what they printed.
func show(w io.Writer, r io.Reader, file string) (bool, error) {
	f, err := os.Create(file)
	if err != nil {
		return false, err
	}
	kept := bufio.NewWriter(f)
	ok, running := true, 0 // packages
	begun := false
	printed := map[[2]string][]string{} // by package and test that runs
	err = events(r, func(e event, line []byte) error {
		at := [2]string{e.Package, e.Test}
		switch e.Action {
		case "start":
			begun = true
			running++
		case "output", "build-output":
			switch {
			case e.Package == "" || e.Test == "" && strings.Contains(e.Output, "\t"):
				fmt.Fprint(w, e.Output)
			default:
				printed[at] = append(printed[at], e.Output)
			}
		case "fail":
			ok = false
			for _, s := range printed[at] {
				fmt.Fprint(w, s)
			}
			delete(printed, at)
			running -= ended(e)
		case "build-fail":
			ok = false
		case "pass", "skip":
			delete(printed, at)
			running -= ended(e)
		}
		_, err := kept.Write(append(line, '\n'))
		return err
	})
	return ok && begun && running == 0, errors.Join(err, kept.Flush(), f.Close())
}

// ended is 1 for the last event of a package.
func ended(e event) int {
	if e.Test == "" {
		return 1
	}
	return 0
}

// place begins a line that a test has logged.
var place = regexp.MustCompile(`^\s+\w+_test\.go:\d+: `)

// read finds the tests of the row in the output of go test -json.
func (r row) read(out io.Reader) (*outcome, error) {
	o := new(outcome)
	wanted := regexp.MustCompile("^(" + r.tests + ")$")
	last := map[string]string{} // line logged, by test
	err := events(out, func(e event, _ []byte) error {
		test, _, sub := strings.Cut(e.Test, "/")
		if e.Package != "waymark"+strings.TrimPrefix(r.pkg, ".") || test != "" && !wanted.MatchString(test) {
			return nil
		}
		o.output.WriteString(e.Output)
		if place.MatchString(e.Output) {
			last[e.Test] = strings.TrimSpace(place.ReplaceAllString(e.Output, ""))
		}
		if test == "" || sub {
			return nil
		}
		switch e.Action {
		case "pass":
			o.passed++
			if last[test] != "" {
				o.figures = append(o.figures, last[test])
			}
		case "fail":
			o.failed++
		case "skip":
			o.skipped++
			o.reasons = append(o.reasons, test+": "+last[test])
		}
		o.seconds += e.Elapsed
		return nil
	})
	return o, err
}

func (r row) run(long bool) (*outcome, error) {
	cmd := exec.Command("go", "test", "-vet=off", "-trimpath", "-count=1", "-timeout", "4h", "-json", "-run", "^("+r.tests+")$", r.pkg)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if long {
		cmd.Env = append(os.Environ(), r.long...)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return new(outcome), err
	}
	if err := cmd.Start(); err != nil {
		return new(outcome), err
	}
	o, err := r.read(out)
	err = errors.Join(err, cmd.Wait())
	o.output.Write(errs.Bytes())
	return o, err
}
