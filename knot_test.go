package rollcall_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// knots bounds the largest knot of a package, in lines. A knot is a set of declarations of which
// each needs all others, directly or through others: no package can have one part of it without the
// rest, and a reader has to hold all of it in the head. All other packages keep to anyKnot.
var knots = map[string]int{
	"presence/track": 1_550,
}

const anyKnot = 1_700

// A checked is a package of the module with its types.
type checked struct {
	path  string
	fset  *token.FileSet
	files []*ast.File
	info  *types.Info
}

// checkedPackages returns every package of the module, without its tests.
func checkedPackages(t *testing.T) []checked {
	t.Helper()
	all, err := checkAll()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var checkAll = sync.OnceValues(func() (all []checked, err error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,GoFiles,Export,Module", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, &stderr)
	}
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
		Module                  *struct{ Main bool }
	}
	exports := make(map[string]string)
	var own []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p listed
		if err := dec.Decode(&p); err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if p.Module != nil && p.Module.Main {
			own = append(own, p)
		}
	}
	fset := token.NewFileSet()
	from := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range own {
		c := checked{path: strings.TrimPrefix(p.ImportPath, module), fset: fset, info: &types.Info{
			Defs: make(map[*ast.Ident]types.Object), Uses: make(map[*ast.Ident]types.Object), Selections: make(map[*ast.SelectorExpr]*types.Selection),
			Types: make(map[ast.Expr]types.TypeAndValue),
		}}
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			c.files = append(c.files, f)
		}
		if _, err := (&types.Config{Importer: from}).Check(p.ImportPath, fset, c.files, c.info); err != nil {
			return nil, fmt.Errorf("%s: %w", p.ImportPath, err)
		}
		all = append(all, c)
	}
	return all, nil
})

// A declared is a declaration at the top of a file, and the node that it is of: a type is one node
// with all its methods.
type declared struct {
	from, to token.Pos
	node     int
}

// A house is the graph of a package's declarations.
type house struct {
	names []string
	lines []int
	needs []map[int]bool
	decls []declared // by position
}

func houseOf(c checked) *house {
	h, known := new(house), make(map[string]int)
	node := func(name string) int {
		n, ok := known[name]
		if !ok {
			n = len(h.names)
			known[name] = n
			h.names, h.lines, h.needs = append(h.names, name), append(h.lines, 0), append(h.needs, make(map[int]bool))
		}
		return n
	}
	add := func(name string, doc *ast.CommentGroup, n ast.Node) {
		if name == "_" || name == "init" {
			name = fmt.Sprint(name, " ", n.Pos())
		}
		first := n.Pos()
		if doc != nil {
			first = doc.Pos()
		}
		i := node(name)
		h.lines[i] += c.fset.Position(n.End()).Line - c.fset.Position(first).Line + 1
		h.decls = append(h.decls, declared{n.Pos(), n.End(), i})
	}
	for _, f := range c.files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					name = receiver(d.Recv.List[0].Type)
				}
				add(name, d.Doc, d)
			case *ast.GenDecl:
				for i, spec := range d.Specs {
					doc := d.Doc
					if i > 0 {
						doc = nil
					}
					switch s := spec.(type) {
					case *ast.TypeSpec:
						add(s.Name.Name, cmp.Or(s.Doc, doc), s)
					case *ast.ValueSpec:
						add(s.Names[0].Name, cmp.Or(s.Doc, doc), s)
					}
				}
			}
		}
	}
	slices.SortFunc(h.decls, func(a, b declared) int { return cmp.Compare(a.from, b.from) })
	for id, object := range c.info.Uses {
		from, to := h.at(id.Pos()), h.at(object.Pos())
		if from >= 0 && to >= 0 && from != to {
			h.needs[from][to] = true
		}
	}
	return h
}

// receiver returns the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	}
	return e.(*ast.Ident).Name
}

// at returns the node of what is declared or used at a position; negative: none of the package.
func (h *house) at(pos token.Pos) int {
	i, found := slices.BinarySearchFunc(h.decls, pos, func(d declared, pos token.Pos) int { return cmp.Compare(d.from, pos) })
	if !found {
		i--
	}
	if i < 0 || h.decls[i].to <= pos {
		return -1
	}
	return h.decls[i].node
}

// knot returns the largest knot of more than one node: its nodes and its lines.
func (h *house) knot() (largest []int, lines int) {
	// Tarjan: index is when a node was first met, low the earliest node that it leads to.
	index, low := make([]int, len(h.names)), make([]int, len(h.names))
	on := make([]bool, len(h.names))
	var stack []int
	met := 0
	var visit func(n int)
	visit = func(n int) {
		met++
		index[n], low[n] = met, met
		stack, on[n] = append(stack, n), true
		for m := range h.needs[n] {
			if index[m] == 0 {
				visit(m)
				low[n] = min(low[n], low[m])
			} else if on[m] {
				low[n] = min(low[n], index[m])
			}
		}
		if low[n] != index[n] {
			return
		}
		at := slices.Index(stack, n)
		knot, size := slices.Clone(stack[at:]), 0
		for _, m := range knot {
			on[m], size = false, size+h.lines[m]
		}
		if stack = stack[:at]; len(knot) > 1 && size > lines {
			largest, lines = knot, size
		}
	}
	for n := range h.names {
		if index[n] == 0 {
			visit(n)
		}
	}
	slices.SortFunc(largest, func(a, b int) int {
		return cmp.Or(cmp.Compare(h.lines[b], h.lines[a]), strings.Compare(h.names[a], h.names[b]))
	})
	return largest, lines
}

// No package has a knot that is too large for a reader. A feature that ties two subjects together
// fails here: let the lower one hand data over, or take a function when it is made.
func TestKnots(t *testing.T) {
	for _, c := range checkedPackages(t) {
		h := houseOf(c)
		knot, lines := h.knot()
		if len(knot) == 0 {
			continue
		}
		var names []string
		for _, n := range knot {
			names = append(names, fmt.Sprint(h.names[n], " ", h.lines[n]))
		}
		text := fmt.Sprintf("%s: the largest knot has %d declarations and %d lines: %s", c.path, len(knot), lines, strings.Join(names, ", "))
		bound, ok := knots[c.path]
		if !ok {
			bound = anyKnot
		}
		if lines > bound {
			t.Errorf("%s; want %d lines at most", text, bound)
		} else {
			t.Log(text)
		}
	}
}

// TestKnotsAreFound measures a package of which the answer is known.
func TestKnotsAreFound(t *testing.T) {
	const text = `package p

// A has three lines.
type a struct{ b *b }

func (a *a) one() { two() }

type b struct{}

func (b *b) back() { two() }

func two() { new(a).b.back() }

func alone() { alone(); new(b).back() }
`
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	c := checked{"p", fset, []*ast.File{f}, &types.Info{Uses: make(map[*ast.Ident]types.Object)}}
	if _, err := new(types.Config).Check("p", fset, c.files, c.info); err != nil {
		t.Fatal(err)
	}
	h := houseOf(c)
	knot, lines := h.knot()
	if len(knot) != 3 || lines != 6 || h.names[knot[0]] != "a" {
		t.Errorf("got %d declarations and %d lines, want a, b and two, with 6 lines", len(knot), lines)
	}
}
