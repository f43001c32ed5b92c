package rollcall_test

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestStreamsKnowNoTransport: what a stream writes (handlers/stream*.go) knows of its transport only the methods
// of the interface. It names nothing that a file transport_* declares, imports no protocol, and breaks no lines.
// A stream of HTML is one of Server-Sent Events, and no other.
func TestStreamsKnowNoTransport(t *testing.T) {
	looked := 0
	for _, c := range checkedPackages(t) {
		if c.path != "handlers" {
			continue
		}
		file := func(p token.Pos) string { return filepath.Base(c.fset.Position(p).Filename) }
		for _, f := range c.files {
			if name := file(f.Pos()); !strings.HasPrefix(name, "stream") || strings.HasPrefix(name, "stream_html") {
				continue
			}
			looked++
			for _, spec := range f.Imports {
				if strings.Contains(spec.Path.Value, "gobwas") {
					t.Errorf("%v imports %s", c.fset.Position(spec.Pos()), spec.Path.Value)
				}
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Ident:
					if o := c.info.Uses[n]; o != nil && o.Pkg() != nil && strings.HasSuffix(o.Pkg().Path(), "/handlers") && strings.HasPrefix(file(o.Pos()), "transport_") {
						t.Errorf("%v names %s, which is of one transport", c.fset.Position(n.Pos()), n.Name)
					}
				case *ast.BasicLit:
					if n.Kind == token.STRING && strings.Contains(n.Value, `\n\n`) {
						t.Errorf("%v ends a frame by %s, which is for a transport to do", c.fset.Position(n.Pos()), n.Value)
					}
				}
				return true
			})
		}
	}
	if looked < 10 {
		t.Errorf("got %d files of streams, want 10 or more", looked)
	}
}
