package bench

// The data are those of the generator that comes with the peers: a folder for each number of tools,
// of flat files with little-endian numbers of four bytes, meta.json, tools.jsonl and queries.jsonl.

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
)

// Transitions are the edges of a generated tool graph, one in each place of From, To and Weight.
type Transitions struct {
	Tools     int
	From, To  []int32
	Weight    []float32
	Community []int32 // planted, by tool
}

// ReadTransitions reads meta.json, src.i32, dst.i32, w.f32 and comm.i32.
func ReadTransitions(folder string) (Transitions, error) {
	var meta struct{ N int }
	raw, err := os.ReadFile(filepath.Join(folder, "meta.json"))
	if err != nil {
		return Transitions{}, err
	}
	if err := json.Unmarshal(raw, &meta); err != nil {
		return Transitions{}, fmt.Errorf("%s: %w", filepath.Join(folder, "meta.json"), err)
	}
	t := Transitions{Tools: meta.N}
	if err := readAll(folder, map[string]*[]int32{"src.i32": &t.From, "dst.i32": &t.To, "comm.i32": &t.Community}); err != nil {
		return t, err
	}
	if t.Weight, err = readFloats(filepath.Join(folder, "w.f32")); err != nil {
		return t, err
	}
	if len(t.From) != len(t.To) || len(t.From) != len(t.Weight) || len(t.Community) != t.Tools {
		return t, fmt.Errorf("%s: %d sources, %d targets and %d weights of edges, %d communities of %d tools",
			folder, len(t.From), len(t.To), len(t.Weight), len(t.Community), t.Tools)
	}
	return t, nil
}

// Incidence says which tool is in which capability, with the planted cluster of each. Tools that
// are in none have cluster -1.
type Incidence struct {
	Tool, Capability               []int32 // of an entry
	ToolCluster, CapabilityCluster []int32
}

// ReadIncidence reads the incidence with k planted clusters, cap<k>.*.i32.
func ReadIncidence(folder string, k int) (Incidence, error) {
	var h Incidence
	name := func(what string) string { return fmt.Sprintf("cap%d.%s.i32", k, what) }
	err := readAll(folder, map[string]*[]int32{
		name("tool"): &h.Tool, name("cap"): &h.Capability, name("toolcomm"): &h.ToolCluster, name("capcomm"): &h.CapabilityCluster,
	})
	if err != nil {
		return h, err
	}
	if len(h.Tool) != len(h.Capability) {
		return h, fmt.Errorf("%s: %d tools and %d capabilities of entries", folder, len(h.Tool), len(h.Capability))
	}
	used := make([]bool, len(h.ToolCluster))
	for _, t := range h.Tool {
		if int(t) >= len(used) || t < 0 {
			return h, fmt.Errorf("%s: an entry of tool %d of %d", folder, t, len(used))
		}
		used[t] = true
	}
	for t := range used {
		if !used[t] {
			h.ToolCluster[t] = -1
		}
	}
	return h, nil
}

// A Tool is one of tools.jsonl; tools stand there by number.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// A Query is one of queries.jsonl: words drawn from the texts of the tool Target.
type Query struct {
	Target int32  `json:"target"`
	Text   string `json:"q"`
}

// ReadTexts reads tools.jsonl and queries.jsonl.
func ReadTexts(folder string) (tools []Tool, queries []Query, err error) {
	if tools, err = readLines[Tool](filepath.Join(folder, "tools.jsonl")); err == nil {
		queries, err = readLines[Query](filepath.Join(folder, "queries.jsonl"))
	}
	return tools, queries, err
}

// ReadInts reads a file of numbers, such as aaq.i32, the tools whose Adamic-Adar neighbours are asked for.
func ReadInts(path string) ([]int32, error) {
	words, err := readWords(path)
	out := make([]int32, len(words))
	for i, w := range words {
		out[i] = int32(w)
	}
	return out, err
}

// ReadRanks reads pr.f64, the reference PageRanks: each the sum of two single-precision numbers.
func ReadRanks(folder string) ([]float64, error) {
	halves, err := readFloats(filepath.Join(folder, "pr.f64"))
	out := make([]float64, len(halves)/2)
	for i := range out {
		out[i] = float64(halves[2*i]) + float64(halves[2*i+1])
	}
	return out, err
}

func readAll(folder string, columns map[string]*[]int32) (err error) {
	for name, column := range columns {
		if *column, err = ReadInts(filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	return nil
}

func readFloats(path string) ([]float32, error) {
	words, err := readWords(path)
	out := make([]float32, len(words))
	for i, w := range words {
		out[i] = math.Float32frombits(w)
	}
	return out, err
}

func readWords(path string) ([]uint32, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(raw)%4 != 0 {
		return nil, fmt.Errorf("%s: %d bytes are no numbers of four", path, len(raw))
	}
	out := make([]uint32, len(raw)/4)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	return out, nil
}

func readLines[T any](path string) (out []T, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for d := json.NewDecoder(f); d.More(); {
		var x T
		if err := d.Decode(&x); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, x)
	}
	return out, nil
}
