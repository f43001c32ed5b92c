package rollcall_test

import (
	"go/ast"
	"strings"
	"testing"
)

// methods bounds how many methods a type has that are not exported. Exported ones are a door, or an
// interface. All other types keep to anyMethods.
var methods = map[string]int{
	"handlers.stream":              45,
	"handlers.shard":               25,
	"middleware/core.requestVisit": 30,
	"presence/deliver.consumer":    25,
	"presence/deliver.leader":      50,
	"presence/memstore.atomicStep": 30,
	"presence/track.choices":       60,
	"presence/track.leases":        31,
	"presence/track.pending":       26,
	"presence/track.peopleHere":    40,
	"presence/track.replica":       70,
	"presence/track.topics":        25,
	"presence/track.users":         85,
	"presence/track.watchList":     35,
	"presence/track.windowSource":  35,
	"presence/track.writer":        25,
	"templates.workshop":           50,
}

const anyMethods = 20

// TestMethods: no type has so many methods that a reader cannot tell what it is for. One that grows
// over its bound has a second object in it, which holds what it uses: see peopleEndpoints in package
// handlers.
func TestMethods(t *testing.T) {
	for _, c := range checkedPackages(t) {
		if strings.HasPrefix(c.path, "examples/") || strings.HasSuffix(c.path, "test") {
			continue
		}
		count := make(map[string]int)
		for _, f := range c.files {
			for _, d := range f.Decls {
				if d, ok := d.(*ast.FuncDecl); ok && d.Recv != nil && !d.Name.IsExported() {
					count[c.path+"."+receiver(d.Recv.List[0].Type)]++
				}
			}
		}
		for name, n := range count {
			bound, ok := methods[name]
			if !ok {
				bound = anyMethods
			}
			if n > bound {
				t.Errorf("%s has %d methods that are not exported, want %d at most", name, n, bound)
			} else if ok && n <= bound-10 {
				t.Errorf("%s has %d methods that are not exported: lower its bound from %d", name, n, bound)
			}
		}
	}
}
