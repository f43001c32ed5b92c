package rollcall_test

import (
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestStoresAreListed: a package with a type that is a backend.Core stands in stores, and has a row of its
// own in layers.
func TestStoresAreListed(t *testing.T) {
	imports := &ast.File{}
	for _, p := range packages(t) {
		if strings.HasPrefix(p.ImportPath, "presence/") && !strings.Contains(p.ImportPath, "test") {
			imports.Imports = append(imports.Imports, &ast.ImportSpec{Path: &ast.BasicLit{Kind: token.STRING, Value: strconv.Quote(module + p.ImportPath)}})
		}
	}
	imported := importerOf(t, token.NewFileSet(), []*ast.File{imports})
	contract, err := imported.Import(module + "presence/backend")
	if err != nil {
		t.Fatal(err)
	}
	core := contract.Scope().Lookup("Core").Type().Underlying().(*types.Interface)
	found := 0
	for _, spec := range imports.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		in, err := imported.Import(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		path = strings.TrimPrefix(path, module)
		for _, name := range in.Scope().Names() {
			named, ok := in.Scope().Lookup(name).(*types.TypeName)
			if !ok || !named.Exported() || types.IsInterface(named.Type()) || !types.Implements(types.NewPointer(named.Type()), core) {
				continue
			}
			found++
			if !slices.Contains(stores, path) && !slices.Contains(stores, path+"/") {
				t.Errorf("%s.%s is a backend.Core: name the package in stores", path, name)
			}
			if !slices.ContainsFunc(layers, func(row struct {
				pkg   string
				never []string
			}) bool {
				return row.pkg == path && slices.Contains(row.never, anyStore) && slices.Contains(row.never, "presence/track")
			}) {
				t.Errorf("layers must say that %s depends neither on the engine nor on another store", path)
			}
		}
	}
	if found < len(stores) {
		t.Errorf("got %d types that are a backend.Core, want one in each of %q", found, stores)
	}
}

// TestOptionalPartsAreNamed: where the engine or the front door asks a store for more than a Core, it asks
// for an interface with a name, and the comment of backend.Features has it. So a store's author finds all of them.
func TestOptionalPartsAreNamed(t *testing.T) {
	text, err := os.ReadFile("presence/backend/feature.go")
	if err != nil {
		t.Fatal(err)
	}
	listed, _, _ := strings.Cut(string(text), "type Features")
	asked := 0
	for _, c := range checkedPackages(t) {
		if c.path == "presence/backend" || c.path != strings.TrimSuffix(module, "/") && !strings.HasPrefix(c.path, "presence/track") {
			continue
		}
		for _, f := range c.files {
			ast.Inspect(f, func(n ast.Node) bool {
				question, ok := n.(*ast.TypeAssertExpr)
				if !ok || question.Type == nil || c.info.TypeOf(question.X).String() != module+"presence/backend.Core" {
					return true
				}
				asked++
				want := c.info.TypeOf(question.Type).String()
				want = want[strings.LastIndex(want, "/")+1:]
				if link := "[" + strings.TrimPrefix(want, "backend.") + "]"; !strings.Contains(listed, link) {
					t.Errorf("%v: a store is asked for %s, and the comment of backend.Features has no %s", c.fset.Position(n.Pos()), want, link)
				}
				return true
			})
		}
	}
	if asked < 6 {
		t.Errorf("got %d questions to a store, want 6 or more", asked)
	}
}
