package rollcall_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const (
	root   = "github.com/rollcall-go/rollcall" // the package of a site, beside its module's others
	module = root + "/"
)

// stores are the packages of a backend.Store or a Core. None depends on another one or on the engine.
// TestStoresAreListed fails for one that is missing.
var stores = []string{"presence/memstore", "presence/redisstore/"}

// anyStore stands for all stores in a list of layers.
const anyStore = "a store"

// layers says what each package must never depend on, by any way. A name that
// ends in a slash means everything below it too.
var layers = []struct {
	pkg   string
	never []string
}{
	{root, []string{"middleware", "middleware/echov5", "middleware/ginv1", "handlers/client", "handlers/bridge", "handlers/staff", "handlers/metrics", "handlers/webhook", anyStore, "presence/presencetest", "examples/", "internal/browse"}},
	{"presence", []string{"net/http", "database/sql", "middleware/", "handlers/", "templates/", "jobs/", "presence/backend", "presence/track", "presence/feed/", anyStore, "presence/sqlstore", "presence/presencetest"}},
	{"presence/internal/wire", []string{"net/http", "presence"}},
	{"presence/backend", []string{"net/http", "database/sql", "middleware/", "handlers/", "templates/", "jobs/", "presence/track", "presence/feed/", anyStore, "presence/sqlstore", "presence/presencetest"}},
	{"presence/deliver", []string{"net/http", "database/sql", "middleware/", "handlers/", "templates/", "jobs/", "presence/track/", "presence/feed/", anyStore, "presence/sqlstore", "presence/presencetest"}},
	{"presence/track", []string{"net/http", "database/sql", "middleware/", "handlers/", "templates/", "jobs/", "presence/feed/", anyStore, "presence/sqlstore", "presence/presencetest"}},
	{"presence/feed", []string{"net/http", "database/sql", "middleware/", "handlers/", "templates/", "jobs/", "presence/presencetest", anyStore, "presence/sqlstore"}},
	{"presence/presencetest", []string{"presence/track/", "jobs/", "net/http", "database/sql", anyStore}},
	{"presence/feed/feedtest", []string{"net/http", "database/sql", "middleware/", "handlers/", "templates/", "jobs/", anyStore, "presence/sqlstore"}},
	{"presence/memstore", []string{"presence/track", "net/http", "database/sql", anyStore}},
	{"presence/redisstore", []string{"presence/track", "net/http", "database/sql", anyStore}},
	{"presence/sqlstore", []string{"net/http", anyStore, "middleware/", "handlers/", "templates/", "jobs/"}},
	{"middleware", []string{"handlers/", "templates/", "jobs/"}},
	{"middleware/core", []string{"middleware", "handlers/", "templates/", "jobs/"}},
	{"middleware/nethttp", []string{"middleware", "handlers/", "templates/", "jobs/"}},
	{"middleware/echov5", []string{"middleware", "middleware/nethttp", "handlers/", "templates/", "jobs/"}},
	{"middleware/ginv1", []string{"middleware", "middleware/nethttp", "handlers/", "templates/", "jobs/"}},
	{"handlers", []string{"middleware/", "templates/", "jobs/"}},
	{"handlers/bridge", []string{"middleware/", "handlers", "templates/", "jobs/"}},
	{"handlers/client", []string{"middleware/", "handlers", "templates/", "jobs/"}},
	{"handlers/staff", []string{"middleware/", "handlers", "templates/", "jobs/"}},
	{"handlers/metrics", []string{"middleware/", "templates/", "jobs/"}},
	{"handlers/webhook", []string{"middleware/", "handlers", "handlers/metrics", "templates/", "jobs/", anyStore}},
	{"templates", []string{"middleware/", "handlers/", "jobs/"}},
	{"jobs", []string{"net/http", "middleware/", "handlers/", "templates/"}},
}

// guarded says which packages alone may depend on a module, by any way, so that
// a site compiles in no more than what it uses. The tests' own tools are in no
// package that a site imports.
var guarded = []struct {
	module string
	users  []string
}{
	{"github.com/labstack/echo/v4/", []string{"middleware", "examples/"}},
	{"github.com/labstack/echo/v5/", []string{"middleware/echov5", "examples/echov5"}},
	{"github.com/gin-gonic/", []string{"middleware/ginv1", "examples/gin"}},
	{"github.com/go-chi/", []string{"examples/chi"}},
	{"maragu.dev/gomponents/", []string{"examples/gomponents"}},
	{"github.com/felixge/httpsnoop", []string{root, "middleware/", "examples/"}},
	{"github.com/r3labs/", []string{"handlers/client", "handlers/bridge", "examples/watch"}},
	{"github.com/axiomhq/", []string{root, "presence/memstore", "presence/track/tracktest", "presence/redisstore/", "middleware/internal/adaptertest", "examples/"}},
	{"github.com/redis/", []string{"presence/redisstore", "presence/redisstore/internal/storeclock", "presence/redisstore/internal/storetest", "internal/redistest", "examples/forum", "examples/doctor"}},
	{"github.com/jackc/", []string{"examples/forum/"}}, // and tests: a site chooses its driver
	{"modernc.org/", []string{"examples/forum/"}},
	{"github.com/prometheus/", []string{"handlers/metrics", "examples/forum"}},
	{"github.com/tdewolff/", nil}, // tests only
	{"pgregory.net/rapid", []string{"presence/presencetest", "presence/redisstore/internal/storetest"}},
	{"go.uber.org/goleak", []string{"internal/leak"}},
	{"github.com/chromedp/", []string{"internal/browse", "examples/internal/onepage/onepagetest", "examples/internal/signintest"}},
}

// A pkg is what go list says of one package: names in this module are short.
type pkg struct {
	ImportPath string
	Deps       []string
}

// violations returns each forbidden dependency, as one line.
func violations(pkgs []pkg) []string {
	var found []string
	check := func(p pkg, never string) {
		if i := slices.IndexFunc(p.Deps, under(never)); i >= 0 {
			found = append(found, fmt.Sprintf("%s depends on %s", p.ImportPath, p.Deps[i]))
		}
	}
	for _, p := range pkgs {
		for _, guard := range guarded {
			if !slices.ContainsFunc(guard.users, func(user string) bool { return under(user)(p.ImportPath) }) {
				check(p, guard.module)
			}
		}
		for _, layer := range layers {
			if layer.pkg != p.ImportPath {
				continue
			}
			for _, never := range layer.never {
				if never != anyStore {
					check(p, never)
					continue
				}
				for _, store := range stores {
					if !under(store)(p.ImportPath) && !(p.ImportPath == root && store == "presence/memstore") { // a site's default
						check(p, store)
					}
				}
			}
		}
	}
	return found
}

// under reports whether a path is root, or below it where root ends in a slash.
func under(root string) func(path string) bool {
	bare, isTree := strings.CutSuffix(root, "/")
	return func(path string) bool {
		return path == bare || isTree && strings.HasPrefix(path, root)
	}
}

// packages returns every package of this module.
func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Deps", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	out = bytes.ReplaceAll(out, []byte(module), nil)
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	return pkgs
}

func TestLayers(t *testing.T) {
	pkgs := packages(t)
	for _, must := range []string{root, "presence", "middleware", "handlers", "templates", "jobs"} {
		if !slices.ContainsFunc(pkgs, func(p pkg) bool { return p.ImportPath == must }) {
			t.Errorf("package %s is missing", must)
		}
	}
	for _, line := range violations(pkgs) {
		t.Error(line)
	}
}

// TestLayersAreGuarded breaks the rules, one after the other.
func TestLayersAreGuarded(t *testing.T) {
	for _, tt := range []struct{ pkg, dep string }{
		{root, "middleware"},
		{root, "github.com/labstack/echo/v4"},
		{root, "github.com/go-chi/chi/v5"},
		{root, "presence/redisstore"},
		{root, "github.com/redis/go-redis/v9"},
		{root, "github.com/jackc/pgx/v5/stdlib"},
		{"presence", "net/http"},
		{"presence", "github.com/redis/go-redis/v9"},
		{"presence", "presence/redisstore"},
		{"presence", "presence/backend"},
		{"presence/backend", "presence/track"},
		{"presence/memstore", "presence/track"},
		{"presence/presencetest", "presence/track"},
		{"presence/redisstore", "presence/track"},
		{"presence/redisstore", "presence/memstore"},
		{"presence/memstore", "presence/redisstore"},
		{"presence/feed", "presence/redisstore/internal/storeclock"},
		{"middleware", "handlers"},
		{"handlers", "templates"},
		{"templates", "jobs"},
		{"jobs", "middleware"},
		{"bench", "github.com/labstack/echo/v4"},
		{"middleware/core", "github.com/labstack/echo/v4"},
		{"middleware/nethttp", "github.com/labstack/echo/v4/middleware"},
		{"middleware", "github.com/labstack/echo/v5"},
		{"templates", "github.com/labstack/echo/v5"},
		{"middleware/echov5", "github.com/labstack/echo/v4"},
		{"middleware/echov5", "github.com/gin-gonic/gin"},
		{"middleware/nethttp", "github.com/go-chi/chi/v5"},
		{"templates", "maragu.dev/gomponents"},
		{"handlers", "github.com/felixge/httpsnoop"},
		{"middleware/ginv1", "middleware/nethttp"},
		{"handlers", "github.com/r3labs/sse/v2"},
		{"handlers", "github.com/prometheus/client_golang/prometheus"},
		{"handlers", "github.com/tdewolff/minify/v2"},
		{"presence", "pgregory.net/rapid"},
		{"templates", "github.com/chromedp/chromedp"},
		{"jobs", "go.uber.org/goleak"},
		{"presence/sqlstore", "github.com/jackc/pgx/v5/stdlib"},
		{"presence/sqlstore", "modernc.org/sqlite"},
		{"presence/sqlstore", "net/http"},
		{"presence", "database/sql"},
		{"handlers", "modernc.org/libc"},
		{"handlers/webhook", "handlers"},
		{"handlers/client", "handlers"},
	} {
		got := violations([]pkg{{tt.pkg, []string{"fmt", tt.dep, "time"}}})
		want := []string{tt.pkg + " depends on " + tt.dep}
		if !slices.Equal(got, want) {
			t.Errorf("%s importing %s: got %q, want %q", tt.pkg, tt.dep, got, want)
		}
	}
	if got := violations([]pkg{{"middleware", []string{"net/http", "github.com/labstack/echo/v4"}}}); got != nil {
		t.Errorf("middleware importing Echo: got %q, want none", got)
	}
}

// A site without a web framework compiles in these modules, and no other.
var compiled = []string{
	root,
	"github.com/axiomhq/", "github.com/dgryski/", "github.com/kamstrup/", // the memory store's guests
	"github.com/felixge/httpsnoop", "github.com/gobwas/", "github.com/robfig/cron/", "github.com/tidwall/btree", "golang.org/x/text/",
}

func TestSiteWithoutFrameworkCompilesInNone(t *testing.T) {
	for _, p := range packages(t) {
		if p.ImportPath != "examples/nethttp" {
			continue
		}
		for _, dep := range p.Deps {
			root, _, _ := strings.Cut(dep, "/")
			if strings.Contains(root, ".") && !slices.ContainsFunc(compiled, func(of string) bool { return under(of)(dep) }) {
				t.Errorf("%s is compiled into a site without a framework", dep)
			}
		}
		return
	}
	t.Error("there is no examples/nethttp")
}

// TestDependenciesAreListed: docs/dependencies.md says of each module that go.mod requires
// directly why it is there and what would replace it.
func TestDependenciesAreListed(t *testing.T) {
	text, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	direct, err := exec.Command("go", "list", "-m", "-f", "{{if not (or .Main .Indirect)}}{{.Path}}{{end}}", "all").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(direct)) {
		if !strings.Contains(string(text), "`"+strings.TrimPrefix(path, "github.com/")+"`") {
			t.Errorf("docs/dependencies.md says nothing of %s", path)
		}
	}
}
