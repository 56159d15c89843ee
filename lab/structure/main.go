// Command structure measures the size and shape of a module: code lines, share of comments, exported names, the largest
// struct, interface and function, and the imports between its packages.
//
//	go run ./lab/structure [-dir .] [-all]
//
// A line of code is a line of a file that is no test, neither blank nor only a comment. An exported name is a
// top-level identifier; methods and fields do not count.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// listed is what `go list -json` says of a package.
type listed struct {
	ImportPath, Dir  string
	GoFiles, Imports []string
	Module           struct{ Path string }
}

// measured is one package.
type measured struct {
	name                    string
	code, comments, exports int
	files, imports          int
}

// largest is a declaration and its size: fields, methods or lines.
type largest struct {
	size int
	name string
}

type tree struct {
	packages                       []measured
	structs, interfaces, functions []largest
}

func main() {
	log.SetFlags(0)
	dir := flag.String("dir", ".", "folder of the module")
	all := flag.Bool("all", false, "list every package, not only the totals")
	flag.Parse()
	packages, err := list(*dir)
	if err != nil {
		log.Fatal(err)
	}
	var t tree
	for _, p := range packages {
		if err := t.add(p); err != nil {
			log.Fatal(err)
		}
	}
	t.print(os.Stdout, *all)
}

// list returns the packages of the module in dir, without the others of its workspace.
func list(dir string) ([]listed, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports,Module", "./...")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w", dir, err)
	}
	var packages []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

func (t *tree) add(p listed) error {
	m := measured{name: strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, p.Module.Path), "/"), files: len(p.GoFiles)}
	for _, path := range p.Imports {
		if strings.HasPrefix(path, p.Module.Path+"/") {
			m.imports++
		}
	}
	files := token.NewFileSet()
	for _, name := range p.GoFiles {
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return err
		}
		code, comments := lines(text)
		m.code, m.comments = m.code+code, m.comments+comments
		file, err := parser.ParseFile(files, name, text, 0)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			m.exports += t.declared(files, m.name, d)
		}
	}
	t.packages = append(t.packages, m)
	return nil
}

// lines counts the lines that hold code and those that hold only a comment.
func lines(text []byte) (code, comments int) {
	files := token.NewFileSet()
	f := files.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(f, text, nil, scanner.ScanComments)
	kind := map[int]bool{} // whether a line has code
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue
		}
		first := files.Position(pos).Line
		for line := first; line <= first+strings.Count(literal, "\n"); line++ {
			kind[line] = kind[line] || tok != token.COMMENT
		}
	}
	for _, isCode := range kind {
		if isCode {
			code++
		} else {
			comments++
		}
	}
	return code, comments
}

// declared records the sizes of a declaration and returns how many names it exports.
func (t *tree) declared(files *token.FileSet, pkg string, d ast.Decl) int {
	exports := 0
	count := func(name *ast.Ident) {
		if name.IsExported() {
			exports++
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		first, last := files.Position(d.Pos()).Line, files.Position(d.End()).Line
		t.functions = append(t.functions, largest{last - first + 1, pkg + "." + d.Name.Name})
		if d.Recv == nil {
			count(d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					count(name)
				}
			case *ast.TypeSpec:
				count(spec.Name)
				switch of := spec.Type.(type) {
				case *ast.StructType:
					t.structs = append(t.structs, largest{of.Fields.NumFields(), pkg + "." + spec.Name.Name})
				case *ast.InterfaceType:
					t.interfaces = append(t.interfaces, largest{of.Methods.NumFields(), pkg + "." + spec.Name.Name})
				}
			}
		}
	}
	return exports
}

func (t *tree) print(w io.Writer, all bool) {
	code, comments, imports := 0, 0, 0
	exports := []largest{}
	for _, p := range t.packages {
		code, comments, imports = code+p.code, comments+p.comments, imports+p.imports
		exports = append(exports, largest{p.exports, p.name})
	}
	if all {
		slices.SortFunc(t.packages, func(a, b measured) int {
			return cmp.Or(cmp.Compare(b.code, a.code), strings.Compare(a.name, b.name))
		})
		fmt.Fprintln(w, "   code  files  exports  imports  comments  package")
		for _, p := range t.packages {
			fmt.Fprintf(w, "%7d%7d%9d%9d%8.1f %%  %s\n", p.code, p.files, p.exports, p.imports, share(p.comments, p.code), p.name)
		}
	}
	fmt.Fprintf(w, "packages %d · code lines %d · comments %.1f %% of lines that are not blank · imports between packages %d\n",
		len(t.packages), code, share(comments, code), imports)
	slices.SortFunc(exports, bySize)
	fmt.Fprintf(w, "exported names of a package: median %d, p90 %d, most", exports[len(exports)/2].size, exports[len(exports)/10].size)
	top(w, exports, 3)
	for _, kind := range []struct {
		name, unit string
		of         []largest
		limit      int
	}{{"structs", "fields", t.structs, 20}, {"interfaces", "methods", t.interfaces, 8}, {"functions", "lines", t.functions, 60}} {
		slices.SortFunc(kind.of, bySize)
		above := 0
		for _, l := range kind.of {
			if l.size > kind.limit {
				above++
			}
		}
		fmt.Fprintf(w, "%s: %d of %d have more than %d %s, largest", kind.name, above, len(kind.of), kind.limit, kind.unit)
		top(w, kind.of, max(above, 3))
	}
}

func bySize(a, b largest) int {
	return cmp.Or(cmp.Compare(b.size, a.size), strings.Compare(a.name, b.name))
}

func share(comments, code int) float64 {
	return 100 * float64(comments) / float64(max(comments+code, 1))
}

func top(w io.Writer, of []largest, n int) {
	for _, l := range of[:min(n, len(of))] {
		fmt.Fprintf(w, " %s %d", l.name, l.size)
	}
	fmt.Fprintln(w)
}
