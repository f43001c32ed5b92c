package rollcall_test

import (
	"os/exec"
	"strings"
	"testing"
)

// layers says what packages must not depend on, by any way. A name that ends in a slash means all below it.
var layers = []struct{ packages, never string }{
	{"presence presence/backend presence/deliver presence/track presence/feed presence/feed/feedtest presence/memstore presence/redisstore presence/presencetest",
		"net/http database/sql middleware/ handlers/ templates/ jobs/ presence/sqlstore"},
	{". presence presence/backend presence/deliver presence/track presence/feed presence/feed/feedtest presence/presencetest presence/sqlstore jobs templates handlers handlers/webhook",
		"presence/redisstore/ examples/ internal/browse"},
	{"presence presence/backend presence/deliver presence/track presence/feed presence/feed/feedtest presence/presencetest presence/sqlstore presence/redisstore", "presence/memstore"},
	{"presence presence/backend presence/memstore presence/redisstore presence/presencetest", "presence/track/"},
	{"presence", "presence/backend"},
	{"presence/backend presence/deliver presence/track", "presence/feed/ presence/presencetest"},
	{"presence/memstore", "presence/redisstore/"},
	{"middleware middleware/core middleware/nethttp middleware/echov5 middleware/ginv1", "handlers/ templates/ jobs/"},
	{"handlers presence/sqlstore", "middleware/ templates/ jobs/"},
	{"handlers/bridge handlers/client handlers/staff handlers/webhook", "middleware/ handlers templates/ jobs/"},
	{"templates", "middleware/ handlers/ jobs/"},
	{"jobs", "net/http middleware/ handlers/ templates/"},
	{"presence/sqlstore", "net/http github.com/jackc/ modernc.org/"},
}

// compiled are the modules that a site without a web framework compiles in.
const compiled = "github.com/rollcall-go/ github.com/axiomhq/ github.com/dgryski/ github.com/kamstrup/ github.com/felixge/httpsnoop/ github.com/gobwas/ github.com/robfig/cron/ github.com/tidwall/btree/ golang.org/x/text/"

// within reports whether names has a path, or a tree that the path is in.
func within(names, path string) bool {
	for name := range strings.FieldsSeq(names) {
		if path == name || strings.HasSuffix(name, "/") && strings.HasPrefix(path+"/", name) {
			return true
		}
	}
	return false
}

func TestLayers(t *testing.T) {
	const module = "github.com/rollcall-go/rollcall"
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Deps}} {{.}}{{end}}`, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		path, deps, _ := strings.Cut(line, " ")
		name := strings.TrimPrefix(strings.Replace(path, module, ".", 1), "./")
		for dep := range strings.FieldsSeq(deps) {
			for _, layer := range layers {
				if within(layer.packages, name) && within(layer.never, strings.TrimPrefix(dep, module+"/")) {
					t.Errorf("%s depends on %s", name, dep)
				}
			}
			if host, _, _ := strings.Cut(dep, "/"); name == "examples/nethttp" && strings.Contains(host, ".") && !within(compiled, dep) {
				t.Errorf("a site without a framework compiles in %s", dep)
			}
		}
	}
}
