package rollcall_test

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// One function finds the settings of a topic in Config.Kinds, so that a topic whose kind has none of its own, such as
// the parts of a sharded topic, can get those of another one there.
func TestKindsAreLookedUpInOnePlace(t *testing.T) {
	want := []string{"given", "validateFor"} // validateFor reads each kind by its name
	found := make(map[string]bool)
	for _, c := range checkedPackages(t) {
		for _, f := range c.files {
			for _, decl := range f.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if !ok {
					continue
				}
				ast.Inspect(fn, func(n ast.Node) bool {
					at, ok := n.(*ast.IndexExpr)
					if !ok {
						return true
					}
					if typ := c.info.TypeOf(at.X); typ != nil && strings.HasSuffix(typ.String(), "/presence.Kind") && strings.HasPrefix(typ.String(), "map[string]") {
						found[fn.Name.Name] = true
						if !slices.Contains(want, fn.Name.Name) {
							t.Errorf("%s: %s looks up a kind: call Config.Kind", c.fset.Position(at.Pos()), fn.Name.Name)
						}
					}
					return true
				})
			}
		}
	}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
		t.Errorf("got look-ups in %q, want %q", got, want)
	}
}
