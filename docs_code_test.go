package rollcall_test

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
)

// A goBlock is Go code in a document.
type goBlock struct {
	page string
	line int // of its first line of code
	code string
}

var goFence = regexp.MustCompile("(?ms)^( *)```go\n(.*?)^ *```$")

// goBlocks returns the code of README and of the pages in docs.
func goBlocks(t *testing.T) []goBlock {
	var blocks []goBlock
	for name, text := range documents(t) {
		if name != "README.md" && path.Dir(name) != "docs" {
			continue
		}
		for _, at := range goFence.FindAllStringSubmatchIndex(text, -1) {
			indent, code := text[at[2]:at[3]], text[at[4]:at[5]]
			blocks = append(blocks, goBlock{
				page: name,
				line: strings.Count(text[:at[4]], "\n") + 1,
				code: strings.ReplaceAll("\n"+code, "\n"+indent, "\n")[1:],
			})
		}
	}
	return blocks
}

// source returns b as a Go file that has imports. A block is a file, or declarations, or
// statements.
func (b goBlock) source(imports string) string {
	const line = "\n//line %s:%d\n%s\n"
	at := func(code string) string { return fmt.Sprintf(line, b.page, b.line, code) }
	switch first, _, _ := strings.Cut(b.code, " "); first {
	case "package":
		return at(b.code)
	case "import":
		return "package site\n" + at(b.code)
	case "func", "type", "var", "const":
		return "package site\n" + imports + at(b.code)
	}
	return "package site\n" + imports + "\nfunc _() {" + at(b.code) + "}\n"
}

// TestDocsCode: each block of Go in README and in docs compiles, over the names that
// testdata/docs/site.go says a site has. Variables that a block shows and does not use are
// left to the reader.
func TestDocsCode(t *testing.T) {
	const prelude = "testdata/docs/site.go"
	text, err := os.ReadFile(prelude)
	if err != nil {
		t.Fatal(err)
	}
	_, imports, _ := strings.Cut(string(text), "\nimport (")
	imports, _, _ = strings.Cut(imports, "\n)\n")
	imports = "import (" + imports + "\n)\n"

	fset := token.NewFileSet()
	parse := func(name, src string) *ast.File {
		f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
		}
		return f
	}
	blocks := goBlocks(t)
	if len(blocks) < 20 {
		t.Errorf("got %d blocks, want 20 or more", len(blocks))
	}
	var files []*ast.File
	for _, b := range blocks {
		files = append(files, parse(b.page, b.source(imports)))
	}
	imported := importerOf(t, fset, append(files, parse(prelude, string(text))))
	for i, f := range files {
		all := []*ast.File{f}
		if !strings.HasPrefix(blocks[i].code, "package ") {
			all = append(all, without(parse(prelude, string(text)), f))
		}
		config := types.Config{Importer: imported, Error: func(err error) {
			if !strings.Contains(err.Error(), "and not used") {
				t.Error(err)
			}
		}}
		_, _ = config.Check("site", fset, all, nil) // Error has reported
	}
}

// without returns f less the functions that another file declares.
func without(f, other *ast.File) *ast.File {
	declared := make(map[string]bool)
	for _, d := range other.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			declared[fn.Name.Name] = true
		}
	}
	var kept []ast.Decl
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); !ok || !declared[fn.Name.Name] {
			kept = append(kept, d)
		}
	}
	f.Decls = kept
	return f
}

// importerOf returns an importer of all that files import, as the go command compiles it.
func importerOf(t *testing.T, fset *token.FileSet, files []*ast.File) types.Importer {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-f", "{{if .Export}}{{.ImportPath}} {{.Export}}{{end}}"}
	for _, f := range files {
		for _, spec := range f.Imports {
			args = append(args, strings.Trim(spec.Path.Value, `"`))
		}
	}
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	compiled := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		compiled[path] = file
	}
	return importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(compiled[path]) })
}
