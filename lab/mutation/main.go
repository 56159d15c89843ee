// Command mutation changes constants and operators of the kernels and the predictor one at a time and reports which changes
// the short tests do not catch.
//
//	go run ./lab/mutation [-n 60] [-seed 1] [-skip 0] [-list]
//
// A mutation is drawn by the seed, uniformly from all number literals and comparison, arithmetic and logical operators
// of the packages in [mutated]. The tests run on an overlay, so that the tree itself never changes: first those of the
// package, then those of the packages that rank with it. A mutation that does not compile is drawn again. Survivors are
// printed with file, line and change; the ones that cannot change any result are listed in lab/mutation/equivalent.txt.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// mutated are the packages that compute what an answer says.
var mutated = []string{
	"graph", "spectral", "episodic", "suggest",
	"suggest/history", "suggest/semantic", "suggest/learn", "suggest/learn/rank",
}

// rankers test whole answers: they run where the package's own tests pass.
var rankers = []string{"./suggest/learn/...", "./suggest"}

// replaced maps an operator to the one it becomes.
var replaced = map[token.Token]token.Token{
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
}

// site is one place that can be changed.
type site struct {
	file       string
	line       int
	start, end int // bytes of the literal or operator
	from, to   string
}

func (s site) String() string { return fmt.Sprintf("%s:%d  %s → %s", s.file, s.line, s.from, s.to) }

func main() {
	log.SetFlags(0)
	n := flag.Int("n", 60, "mutations to test")
	seed := flag.Uint64("seed", 1, "seed of the draw")
	skip := flag.Int("skip", 0, "go on after so many mutations of the draw")
	list := flag.Bool("list", false, "print the draw without testing it")
	timeout := flag.Duration("timeout", 10*time.Minute, "per test run; a run that takes longer counts as caught")
	flag.Parse()

	sites, err := collect()
	if err != nil {
		log.Fatal(err)
	}
	draw := rand.New(rand.NewPCG(*seed, 0))
	draw.Shuffle(len(sites), func(i, j int) { sites[i], sites[j] = sites[j], sites[i] })
	fmt.Printf("%d places in %d packages\n", len(sites), len(mutated))
	caught, tested := 0, 0
	for _, s := range sites[min(*skip, len(sites)):] {
		if tested == *n {
			break
		}
		if *list {
			fmt.Println(s)
			tested++
			continue
		}
		verdict, err := test(s, *timeout)
		if err != nil {
			log.Fatal(err)
		}
		if verdict == "invalid" {
			continue
		}
		tested++
		if verdict != "survived" {
			caught++
		}
		fmt.Printf("%-9s %s\n", verdict, s)
	}
	if !*list {
		fmt.Printf("%d of %d caught\n", caught, tested)
	}
}

// collect returns all sites in the order of packages, files and positions.
func collect() ([]site, error) {
	var out []site
	for _, dir := range mutated {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, "_other.go") {
				continue // the portable twin of an assembly kernel does not run here
			}
			found, err := inFile(file)
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("no source files found: run from the root of the repository")
	}
	return out, nil
}

func inFile(file string) (out []site, err error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	add := func(at token.Pos, from, to string) {
		p := set.Position(at)
		out = append(out, site{file, p.Line, p.Offset, p.Offset + len(from), from, to})
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.ArrayType, *ast.StructType:
			return false
		case *ast.BasicLit:
			if to := otherNumber(n); to != "" {
				add(n.Pos(), n.Value, to)
			}
		case *ast.BinaryExpr:
			if to, ok := replaced[n.Op]; ok && !textual(n) {
				add(n.OpPos, n.Op.String(), to.String())
			}
		}
		return true
	})
	return out, nil
}

// otherNumber changes a literal by a half, or by one where it is a whole number.
func otherNumber(l *ast.BasicLit) string {
	switch l.Kind {
	case token.INT:
		if v, err := strconv.ParseInt(l.Value, 0, 64); err == nil {
			return strconv.FormatInt(v+1, 10)
		}
	case token.FLOAT:
		if v, err := strconv.ParseFloat(l.Value, 64); err == nil {
			return strconv.FormatFloat(v*1.5+.1, 'g', -1, 64)
		}
	}
	return ""
}

// textual reports whether an operand is a text literal or nil, where another operator says little.
func textual(e *ast.BinaryExpr) bool {
	for _, x := range []ast.Expr{e.X, e.Y} {
		switch x := x.(type) {
		case *ast.BasicLit:
			if x.Kind == token.STRING {
				return true
			}
		case *ast.Ident:
			if x.Name == "nil" {
				return true
			}
		}
	}
	return false
}

// test returns caught, hung, survived or invalid.
func test(s site, timeout time.Duration) (string, error) {
	text, err := os.ReadFile(s.file)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	changed := filepath.Join(dir, "mutant.go")
	mutant := bytes.Join([][]byte{text[:s.start], text[s.end:]}, []byte(" "+s.to+" "))
	if err := os.WriteFile(changed, mutant, 0o600); err != nil {
		return "", err
	}
	absolute, err := filepath.Abs(s.file)
	if err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{absolute: changed}})
	if err != nil {
		return "", err
	}
	table := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(table, overlay, 0o600); err != nil {
		return "", err
	}
	if exec.Command("go", "build", "-overlay", table, "./"+filepath.Dir(s.file)).Run() != nil {
		return "invalid", nil
	}
	for _, packages := range [][]string{{"./" + filepath.Dir(s.file)}, rankers} {
		ctx, stop := context.WithTimeout(context.Background(), timeout)
		err := exec.CommandContext(ctx, "go", append([]string{"test", "-overlay", table, "-short", "-failfast", "-vet=off"}, packages...)...).Run()
		late := ctx.Err() != nil
		stop()
		switch {
		case late:
			return "hung", nil
		case err != nil:
			return "caught", nil
		}
	}
	return "survived", nil
}
