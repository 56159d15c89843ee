package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// slower is by how much a ratio may fall below the recorded one.
const slower = 0.2

// A kept ratio is the time of a control over that of one of our benchmarks, both from one run.
type kept struct {
	ours, control string
	ratio         float64
}

// guard compares the ratios of a run with those recorded in a file, one a line: our benchmark, its control, the ratio.
// With record it writes those of the run into the file instead. The error names what got slower or is missing.
func (b *benchmarks) guard(file string, record bool) (report string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var rows [][]string
	var faults, lines []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			lines = append(lines, line)
			continue
		}
		k, err := readKept(line)
		if err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		ours, control := b.least(k.ours), b.least(k.control)
		if math.IsInf(ours, 1) || math.IsInf(control, 1) {
			faults = append(faults, fmt.Sprintf("%s or its control %s was not measured", k.ours, k.control))
			lines = append(lines, line)
			continue
		}
		now := control / ours
		lines = append(lines, fmt.Sprintf("%s\t%s\t%s", k.ours, k.control, short(now)))
		rows = append(rows, []string{k.ours, k.control, short(k.ratio), short(now), fmt.Sprintf("%+.0f %%", 100*(now/k.ratio-1))})
		if now < (1-slower)*k.ratio && !record {
			faults = append(faults, fmt.Sprintf("%s takes 1/%s of the time of %s, recorded is 1/%s", k.ours, short(now), k.control, short(k.ratio)))
		}
	}
	report = table("Beside the recorded ratios, time of the control / ours", []string{"benchmark", "control", "recorded", "now", "change"}, rows)
	if len(faults) > 0 {
		return report, fmt.Errorf("%s", strings.Join(faults, "\n"))
	}
	if record {
		err = os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
	}
	return report, err
}

func readKept(line string) (k kept, err error) {
	fields := strings.Split(line, "\t")
	if len(fields) == 3 {
		k.ours, k.control = fields[0], fields[1]
		k.ratio, err = strconv.ParseFloat(fields[2], 64)
	}
	if len(fields) != 3 || err != nil || !(k.ratio > 0) {
		return k, fmt.Errorf("want a benchmark, its control and a positive ratio between tabs, got %q", line)
	}
	return k, nil
}

// least is the shortest time of a benchmark, which other work on the machine distorts least: of the processor where
// that was reported. It is infinite where nothing was measured.
func (b *benchmarks) least(name string) float64 {
	least := math.Inf(1)
	if at := slices.IndexFunc(b.list, func(x *benchmark) bool { return x.name == name }); at >= 0 {
		times := b.list[at].values["cpu-ns/op"]
		if len(times) == 0 {
			times = b.list[at].values["ns/op"]
		}
		for _, t := range times {
			least = min(least, t)
		}
	}
	return least
}
