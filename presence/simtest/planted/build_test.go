package planted_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// One simulation is built over an engine that has all bugs. Each is in a copy of its function,
// which is called where the variable SIM_PLANT has the number of the bug:
//
//	func (l *leases) rejoin(c *Connection) { if planted == 4 { l.rejoin_4(c); return }; ... }

// plant returns the file with the bug, and where that is.
func (b bug) plant() (text string, at int, err error) {
	file, err := os.ReadFile(filepath.Join(source, b.file))
	if err != nil {
		return "", 0, err
	}
	text = string(file)
	if n := strings.Count(text, b.old); n != 1 || b.old == b.new {
		return "", 0, fmt.Errorf("%s: %s has %q %d times, want once", b.name, b.file, b.old, n)
	}
	return strings.Replace(text, b.old, b.new, 1), strings.Index(text, b.old), nil
}

// A surgery makes one file of the engine have bugs.
type surgery struct {
	text   string
	calls  map[string]string // of copies, by the function that begins so
	copies strings.Builder
}

// add adds a bug to the file, by its number.
func (s *surgery) add(b bug, number int) error {
	planted, at, err := b.plant()
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, b.file, planted, parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("%s: %w", b.name, err)
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || files.Position(fn.Pos()).Offset > at || files.Position(fn.End()).Offset < at {
			continue
		}
		head := planted[files.Position(fn.Pos()).Offset : files.Position(fn.Body.Lbrace).Offset+1]
		call := fmt.Sprintf("%s_%d(%s)", fn.Name.Name, number, strings.Join(parameters(fn), ", "))
		if fn.Recv != nil {
			call = fn.Recv.List[0].Names[0].Name + "." + call
		}
		if fn.Type.Results != nil {
			call = "return " + call
		} else {
			call += "; return"
		}
		s.calls[head] += fmt.Sprintf(" if planted == %d { %s };", number, call)
		fn.Name.Name, fn.Doc = fmt.Sprint(fn.Name.Name, "_", number), nil
		var out bytes.Buffer
		if err := printer.Fprint(&out, files, fn); err != nil {
			return err
		}
		s.copies.WriteString("\n" + out.String() + "\n")
		return nil
	}
	return fmt.Errorf("%s: not in a function", b.name)
}

func (s *surgery) String() string {
	text := s.text
	for head, calls := range s.calls {
		text = strings.Replace(text, head, head+calls, 1)
	}
	return text + s.copies.String()
}

// parameters returns the names of a function's parameters, as a call of it passes them on.
func parameters(fn *ast.FuncDecl) (names []string) {
	for _, field := range fn.Type.Params.List {
		for _, name := range field.Names {
			_, rest := field.Type.(*ast.Ellipsis)
			switch {
			case name.Name == "_": // nobody reads it
				names = append(names, "*new("+types.ExprString(field.Type)+")")
			case rest:
				names = append(names, name.Name+"...")
			default:
				names = append(names, name.Name)
			}
		}
	}
	return names
}

const chooses = `package track

import (
	"os"
	"strconv"
)

// planted is the number of the bug that this process has. 0: none.
var planted, _ = strconv.Atoi(os.Getenv("SIM_PLANT"))
`

// build builds the simulation over an engine with the bugs, numbered from 1, and returns its path.
// SIM_BINARY names it: then it is kept, and not built again.
func build(t *testing.T, bugs []bug) string {
	binary := os.Getenv("SIM_BINARY")
	if binary == "" {
		binary = filepath.Join(t.TempDir(), "simtest")
	} else if _, err := os.Stat(binary); err == nil {
		return binary
	}
	compile(t, "test", "-c", "-overlay", overlay(t, bugs), "-o", binary, "github.com/rollcall-go/rollcall/presence/simtest")
	return binary
}

// compile runs the go command.
func compile(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "nice", append([]string{"-n", "15", "go"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// overlay writes an engine with the bugs, and returns the path of the file that has the go command
// take it in place of the engine as it is.
func overlay(t *testing.T, bugs []bug) string {
	dir := t.TempDir()
	files, replace := make(map[string]*surgery), make(map[string]string)
	write := func(name, content string) {
		to := filepath.Join(dir, name)
		path, err := filepath.Abs(filepath.Join(source, name))
		if err == nil {
			err = os.WriteFile(to, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		replace[path] = to
	}
	for i, b := range bugs {
		if files[b.file] == nil {
			text, err := os.ReadFile(filepath.Join(source, b.file))
			if err != nil {
				t.Fatal(err)
			}
			files[b.file] = &surgery{text: string(text), calls: make(map[string]string)}
		}
		if err := files[b.file].add(b, i+1); err != nil {
			t.Fatal(err)
		}
	}
	for name, s := range files {
		write(name, s.String())
	}
	write("planted_bugs.go", chooses)
	list, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, list, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
