package rollcall_test

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// documented are the packages whose names documents use, by the word before the dot.
var documented = map[string]string{
	"rollcall": root, "handlers": module + "handlers", "templates": module + "templates", "jobs": module + "jobs",
	"middleware": module + "middleware/nethttp", "presencehttp": module + "handlers", "presencehtml": module + "templates",
	"presence": module + "presence", "track": module + "presence/track", "backend": module + "presence/backend",
	"feed": module + "presence/feed", "memstore": module + "presence/memstore", "redisstore": module + "presence/redisstore",
	"sqlstore": module + "presence/sqlstore", "tracktest": module + "presence/track/tracktest",
	"feedtest": module + "presence/feed/feedtest", "presencetest": module + "presence/presencetest",
	"client": module + "handlers/client", "webhook": module + "handlers/webhook", "staff": module + "handlers/staff",
}

// values are what documents call a value of a type.
var values = map[string]string{
	"site": "rollcall.Site", "tracker": "track.Tracker", "Tracker": "track.Tracker", "live": "handlers.Handler", "Handler": "handlers.Handler",
	"widgets": "templates.Widgets", "keeper": "feed.Keeper", "Config": "rollcall.Config", "Parts": "rollcall.Parts",
}

// TestDocsNames: a name of our packages that a document uses, such as `track.Config.Grace`, is
// there. The decisions are as old as they are.
func TestDocsNames(t *testing.T) {
	imports := &ast.File{}
	for _, pkg := range documented {
		imports.Imports = append(imports.Imports, &ast.ImportSpec{Path: &ast.BasicLit{Kind: token.STRING, Value: strconv.Quote(pkg)}})
	}
	imported := importerOf(t, token.NewFileSet(), []*ast.File{imports})
	span := regexp.MustCompile("`(\\w+(?:\\.\\w+)+)[^`]*`")
	checked := 0
	for name, text := range documents(t) {
		if path.Dir(name) != "." && path.Dir(name) != "docs" {
			continue
		}
		for _, m := range span.FindAllStringSubmatch(text, -1) {
			words := strings.Split(m[1], ".")
			if of, ok := values[words[0]]; ok {
				words = append(strings.Split(of, "."), words[1:]...)
			}
			pkg, ok := documented[words[0]]
			if !ok || !ast.IsExported(words[1]) {
				continue // another's, or a file
			}
			checked++
			in, err := imported.Import(pkg)
			if err != nil {
				t.Fatal(err)
			}
			if !isThere(in, words[1:]) {
				t.Errorf("%s: there is no %s", name, m[1])
			}
		}
	}
	if checked < 100 {
		t.Errorf("got %d names, want 100 or more", checked)
	}
}

// isThere reports whether a package declares a name, and whether that has the fields or methods
// after it.
func isThere(in *types.Package, names []string) bool {
	o := in.Scope().Lookup(names[0])
	for _, name := range names[1:] {
		if o == nil {
			return false
		}
		o, _, _ = types.LookupFieldOrMethod(o.Type(), true, in, name)
	}
	return o != nil
}
