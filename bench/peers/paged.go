package main

import (
	"context"
	"embed"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/npm"
)

//go:embed *.mjs
var scripts embed.FS

// writeScripts writes scripts into the directory of a place.
func writeScripts(in place, names ...string) error {
	texts := map[string][]byte{}
	for _, name := range names {
		text, err := scripts.ReadFile(name)
		if err != nil {
			return err
		}
		texts[name] = text
	}
	return npm.Write(in.dir, in.NodeModules, texts)
}

// A pagedFleet is a fleet whose pages are those of a process of Node.js.
type pagedFleet struct {
	*nodes
	pages *pageChild
}

// openPages takes the pages, if there are any.
func (f *pagedFleet) openPages(pages *pageChild, err error) error {
	f.pages = pages
	return err
}

func (f *pagedFleet) open(ctx context.Context, addr, user string) (tab, error) {
	return f.pages.open(ctx, addr, user)
}

func (f *pagedFleet) watch(ctx context.Context, addr string, show func(change)) (tab, error) {
	return f.pages.watch(ctx, addr, show)
}

func (f *pagedFleet) roster(ctx context.Context, node int) ([]string, error) {
	return f.pages.roster(ctx, f.addr(node))
}

func (f *pagedFleet) close() {
	if f.pages != nil {
		f.pages.stop()
	}
	f.killAll()
}

// A scriptPeer is a peer whose server is a script of Node.js. Nodes share a Redis.
type scriptPeer struct {
	name, says   string
	year, needs  string
	slowest      time.Duration
	renewal      time.Duration
	server, page string   // scripts
	options      []string // of the server
	settings     []string // of the page
	packages     []string // of npm
}

func (sp scriptPeer) peer() *peer {
	return &peer{
		name: sp.name, says: sp.says, year: sp.year, needs: sp.needs, slowest: sp.slowest, renewal: sp.renewal, without: []ingredient{aLeanPage},
		missing: needs(append(sp.packages, "ws")...),
		prepare: func(_ context.Context, in place) (fleet, error) {
			if err := writeScripts(in, sp.server, "site.mjs"); err != nil {
				return nil, err
			}
			f := &pagedFleet{nodes: &nodes{dir: in.dir, command: func(_ int, addr string) (*exec.Cmd, error) {
				return exec.Command("node", append([]string{filepath.Join(in.dir, sp.server), addr, in.redis}, sp.options...)...), nil
			}}}
			return f, f.openPages(startPages(in, sp.page, sp.settings...))
		},
	}
}
