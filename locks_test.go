package rollcall_test

import (
	"go/ast"
	"go/types"
	"os"
	"regexp"
	"strings"
	"testing"
)

// A mutex is locked by methods of the type that has it: who reads the type knows all that happens
// while it is held.
func TestForeignLocks(t *testing.T) {
	for _, c := range checkedPackages(t) {
		if c.path != "presence/track" {
			continue
		}
		for name, places := range foreignLocks(c) {
			t.Errorf("%s is locked outside of its type:\n%s", name, strings.Join(places, "\n"))
		}
		return
	}
	t.Error("there is no presence/track")
}

// TestLocksAreListed: presence/track/doc.go has each mutex of the package at the level of its type, and no
// other. A mutex without a level stands in no line.
func TestLocksAreListed(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile("presence/track/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	levels := make(map[string]string) // by the name of the type
	for _, m := range regexp.MustCompile(`(\w+Mutex) += lockorder\.Mutex\[\[(\d)\]int\]`).FindAllStringSubmatch(read("locks_ordered.go"), -1) {
		levels[m[1]] = m[2]
	}
	listed := make(map[string]string) // level by mutex
	level := ""
	for _, m := range regexp.MustCompile(`(?m)^//\t(\d| )  (.*)$`).FindAllStringSubmatch(read("doc.go"), -1) {
		if m[1] != " " {
			level = m[1]
		}
		for _, name := range regexp.MustCompile(`\w+\.\w+`).FindAllString(m[2], -1) {
			listed[name] = level
		}
	}
	there := make(map[string]string)
	for _, c := range checkedPackages(t) {
		if c.path != "presence/track" {
			continue
		}
		for _, f := range c.files {
			ast.Inspect(f, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				of, ok := spec.Type.(*ast.StructType)
				if !ok {
					return true
				}
				for _, field := range of.Fields.List {
					typ := field.Type
					if star, ok := typ.(*ast.StarExpr); ok {
						typ = star.X
					}
					if name, ok := typ.(*ast.Ident); ok && levels[name.Name] != "" {
						there[spec.Name.Name+"."+field.Names[0].Name] = levels[name.Name]
					}
				}
				return true
			})
		}
	}
	if len(there) < 20 {
		t.Errorf("got %d mutexes with a level, want 20 or more", len(there))
	}
	for name, level := range there {
		if listed[name] != level {
			t.Errorf("doc.go has %s at level %q, and its type is of level %s", name, listed[name], level)
		}
	}
	for name, level := range listed {
		if there[name] == "" {
			t.Errorf("doc.go has %s at level %s, and there is no such mutex with a level", name, level)
		}
	}
}

// foreignLocks returns, for each mutex of a package, the places that lock it outside of the methods of
// the type that has it.
func foreignLocks(c checked) map[string][]string {
	found := make(map[string][]string)
	h := houseOf(c)
	for _, f := range c.files {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || method.Sel.Name != "Lock" && method.Sel.Name != "RLock" {
				return true
			}
			mutex, ok := method.X.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			field, ok := c.info.Uses[mutex.Sel].(*types.Var)
			if !ok || !field.IsField() {
				return true
			}
			if of, at := h.at(field.Pos()), h.at(call.Pos()); of >= 0 && of != at {
				name := h.names[of] + "." + field.Name()
				found[name] = append(found[name], c.fset.Position(call.Pos()).String())
			}
			return true
		})
	}
	return found
}
