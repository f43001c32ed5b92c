package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"text/template"
	"time"
)

//go:embed prosody.cfg.lua
var prosodyConfig string

func missingProsody(c config) error {
	if _, err := exec.LookPath("prosody"); err != nil {
		return errors.New("install it: apt-get install prosody")
	}
	return needs("ws")(c)
}

// A prosodyFleet is one process, whatever node is asked for: Prosody has no cluster.
type prosodyFleet struct {
	pagedFleet
	mu sync.Mutex
}

func (f *prosodyFleet) addr(int) string { return f.nodes.addr(1) }

func (f *prosodyFleet) start(ctx context.Context, _ int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.running(1); p != nil {
		select {
		case <-p.done:
		default:
			return nil
		}
	}
	return f.nodes.start(ctx, 1)
}

func (f *prosodyFleet) stop(int) error { return f.nodes.stop(1) }
func (f *prosodyFleet) kill(int)       { f.nodes.kill(1) }

func (f *prosodyFleet) pid(node int) int {
	if node != 1 {
		return 0
	}
	return f.nodes.pid(1)
}

func (f *prosodyFleet) roster(ctx context.Context, _ int) ([]string, error) {
	return f.pages.roster(ctx, f.addr(1))
}

// prosodyPeer returns a row. For resume and patience see xmppSettings; zero is without.
func prosodyPeer(name, says, needs string, slowest time.Duration, resume, patience int) *peer {
	return &peer{
		name: name, says: says, year: "2023", needs: needs, slowest: slowest, without: []ingredient{aRedis, aSecondNode, aLeanPage}, missing: missingProsody,
		prepare: func(_ context.Context, in place) (fleet, error) {
			accounts := filepath.Join(in.dir, "localhost", "accounts")
			if err := os.MkdirAll(accounts, 0o700); err != nil {
				return nil, err
			}
			f := &prosodyFleet{}
			f.nodes = &nodes{dir: in.dir, command: func(_ int, addr string) (*exec.Cmd, error) { return runProsody(in.dir, addr, resume) }}
			return f, f.openPages(startXMPP(in, xmppSettings{Path: "xmpp-websocket", Accounts: accounts, Resume: resume, Patience: patience}))
		},
	}
}

var (
	prosody      = prosodyPeer("Prosody, one node", "0.12.3, which has no cluster; users are in a room (MUC), pages over XMPP and WebSocket", "a server beside the site; 0 lines", 5*time.Minute, 0, 0)
	prosodyFixed = prosodyPeer("Prosody, one node, with fixes", "stream management for 5 s, and a page that keeps its session and shows a leave 10 s later, as a restart takes that long; a client that is silent for 10 s is asked, and cut after 10 more", "a server beside the site; 60 lines in the page", 40*time.Second, 5, 10000)
)

func runProsody(dir, addr string, resume int) (*exec.Cmd, error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := template.Must(template.New("").Parse(prosodyConfig)).Execute(&text, struct {
		Port, Dir string
		Resume    int
	}{port, dir, resume}); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "prosody.cfg.lua")
	return exec.Command("prosody", "--config", file, "-F"), os.WriteFile(file, text.Bytes(), 0o600)
}
