package rollcall_test

import (
	"go/ast"
	"go/types"
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
