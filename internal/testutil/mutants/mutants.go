// Package mutants shows what a package of tests is worth: it breaks the package under test in one place after
// another, and plays the tests each time. A mutant that no test notices is a place without a test.
//
// All mutants are compiled at once, as an overlay of the go command. Each is behind the environment variable
// [Variable], which has its number:
//
//	if mutant(17) != (len(users) > most) {   // the condition is turned round
//	if !mutant(18) { t.guests.turn() }       // the statement is left out
package mutants

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// Variable names the environment variable that has the number of the mutant. Without it the package is sound.
const Variable = "PRESENCE_MUTANT"

// A Mutant is one place of a package, broken.
type Mutant struct {
	File, Func string
	Text       string // the condition that is turned round, or the statement that is left out
	Left       bool   // a statement is left out
}

// String names a mutant by what it breaks, and by no line.
func (m Mutant) String() string {
	what := "not "
	if m.Left {
		what = "without "
	}
	return m.File + " " + m.Func + ": " + what + m.Text
}

// Overlay writes the files of a package that a pattern names into a directory, with all their mutants. It returns
// these, numbered from 1, and the path of the overlay for go build.
func Overlay(source, pattern, to string) (all []Mutant, overlay string, err error) {
	files, err := filepath.Glob(filepath.Join(source, pattern))
	if err != nil {
		return nil, "", err
	}
	replace, name := make(map[string]string), ""
	write := func(base, text string) error {
		path, err := filepath.Abs(filepath.Join(source, base))
		if err != nil {
			return err
		}
		replace[path] = filepath.Join(to, base)
		return os.WriteFile(replace[path], []byte(text), 0o600)
	}
	for _, path := range files {
		base := filepath.Base(path)
		if strings.HasSuffix(base, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, "", err
		}
		f := &file{name: base, text: text, set: token.NewFileSet(), all: &all}
		if name, err = f.mutate(); err == nil {
			err = write(base, f.String())
		}
		if err != nil {
			return nil, "", err
		}
	}
	if err := write("mutant_of_all.go", fmt.Sprintf(chooses, name, Variable)); err != nil {
		return nil, "", err
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, "", err
	}
	overlay = filepath.Join(to, "overlay.json")
	return all, overlay, os.WriteFile(overlay, list, 0o600)
}

const chooses = `package %s

import (
	"os"
	"strconv"
)

var chosenMutant, _ = strconv.Atoi(os.Getenv(%q))

func mutant(number int) bool { return number == chosenMutant }
`

// A file is one file of the package. edits are texts to insert, by their place.
type file struct {
	name  string
	text  []byte
	set   *token.FileSet
	all   *[]Mutant
	edits map[int]string
}

func (f *file) mutate() (pkg string, err error) {
	f.edits = make(map[int]string)
	parsed, err := parser.ParseFile(f.set, f.name, f.text, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	for _, d := range parsed.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt:
				f.turn(fn.Name.Name, n.Cond)
			case *ast.SwitchStmt:
				if n.Tag == nil {
					for _, c := range n.Body.List {
						for _, cond := range c.(*ast.CaseClause).List {
							f.turn(fn.Name.Name, cond)
						}
					}
				}
			case *ast.BlockStmt:
				f.leaveOut(fn.Name.Name, n.List)
			case *ast.CaseClause:
				f.leaveOut(fn.Name.Name, n.Body)
			}
			return true
		})
	}
	return parsed.Name.Name, nil
}

// turn makes a mutant of a condition.
func (f *file) turn(fn string, cond ast.Expr) {
	f.wrap(fn, cond, false, "mutant(%d) != (", ")")
}

// leaveOut makes a mutant of each statement that may be left out.
func (f *file) leaveOut(fn string, list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				f.wrap(fn, s, true, "if !mutant(%d) { ", " }")
			}
		case *ast.IncDecStmt:
			f.wrap(fn, s, true, "if !mutant(%d) { ", " }")
		case *ast.ExprStmt:
			if !bytes.Contains(f.source(s), []byte("Lock()")) { // a test would wait for ever
				f.wrap(fn, s, true, "if !mutant(%d) { ", " }")
			}
		}
	}
}

func (f *file) wrap(fn string, n ast.Node, left bool, before, after string) {
	*f.all = append(*f.all, Mutant{File: f.name, Func: fn, Text: strings.Join(strings.Fields(string(f.source(n))), " "), Left: left})
	from, to := f.set.Position(n.Pos()).Offset, f.set.Position(n.End()).Offset
	f.edits[from] += fmt.Sprintf(before, len(*f.all))
	f.edits[to] = after + f.edits[to]
}

func (f *file) source(n ast.Node) []byte {
	return f.text[f.set.Position(n.Pos()).Offset:f.set.Position(n.End()).Offset]
}

func (f *file) String() string {
	var b strings.Builder
	for i := range len(f.text) + 1 {
		b.WriteString(f.edits[i])
		if i < len(f.text) {
			b.WriteByte(f.text[i])
		}
	}
	return b.String()
}
