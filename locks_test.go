package rollcall_test

import (
	"go/ast"
	"go/types"
	"strings"
	"testing"
)

// foreign are the mutexes of presence/track that functions lock which are no methods of the mutex's
// type, and in how many places. They stand for now.
var foreign = map[string]int{
	"users.mu": 27, // by choices and attention, whose state it guards, too
}

// A mutex is locked by methods of the type that has it: who reads the type knows all that happens
// while it is held.
func TestForeignLocks(t *testing.T) {
	for _, c := range checkedPackages(t) {
		if c.path != "presence/track" {
			continue
		}
		for name, places := range foreignLocks(c) {
			if len(places) > foreign[name] {
				t.Errorf("%s is locked in %d places outside of its type, want %d at most:\n%s", name, len(places), foreign[name], strings.Join(places, "\n"))
			}
		}
		return
	}
	t.Error("there is no presence/track")
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
