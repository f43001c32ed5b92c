package rollcall_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// No two names of a package differ by a capital alone: a reader who hears one would not know which.
func TestNamesDiffer(t *testing.T) {
	packages := make(map[string]map[string]bool)
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == "testdata"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		if packages[dir] == nil {
			packages[dir] = make(map[string]bool)
		}
		for _, name := range namesOf(file) {
			packages[dir][name] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, names := range packages {
		var pairs []string
		for name := range names {
			if small := strings.ToLower(name[:1]) + name[1:]; small != name && names[small] {
				pairs = append(pairs, name+" "+small)
			}
		}
		slices.Sort(pairs)
		if len(pairs) > 0 {
			t.Errorf("%s has %q", dir, pairs)
		}
	}
}

// namesOf returns the names that a file declares for its package, without methods.
func namesOf(file *ast.File) (names []string) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				names = append(names, decl.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}
