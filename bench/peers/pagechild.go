package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/rollcall-go/rollcall/bench/internal/npm"
	"github.com/rollcall-go/rollcall/internal/bound"
)

// A pageChild is a process of Node.js that runs the pages of a fleet. One is enough for all of
// them. It speaks lines of JSON: each command has an id, and is answered under it. In between it
// tells what the pages show.
//
//	{"id":1,"do":"open","tab":7,"addr":"127.0.0.1:4000","user":"u3"}   {"id":1}
//	{"id":2,"do":"watch","tab":8,"addr":…,"user":"watcher"}            {"id":2}
//	{"id":3,"do":"roster","addr":…}                                    {"id":3,"users":["u3"]}
//	{"id":4,"do":"close","tab":7}                                      {"id":4} or {"id":4,"error":"…"}
//	                                                                   {"tab":8,"all":true,"joins":["u1","u2"]}
//	                                                                   {"tab":8,"joins":["u4"]}, {"tab":8,"leaves":["u4"]}
//	                                                                   {"tab":7,"gone":true}
type pageChild struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	done chan struct{}

	mu      sync.Mutex
	last    int
	answers map[int]chan pageLine
	tabs    map[int]*pageTab
}

// A pageLine is a line of the child.
type pageLine struct {
	ID     int      `json:"id"`
	Error  string   `json:"error"`
	Users  []string `json:"users"`
	Tab    int      `json:"tab"`
	All    bool     `json:"all"`
	Joins  []string `json:"joins"`
	Leaves []string `json:"leaves"`
	Gone   bool     `json:"gone"`
}

type pageCommand struct {
	ID   int    `json:"id"`
	Do   string `json:"do"`
	Tab  int    `json:"tab,omitempty"`
	Addr string `json:"addr,omitempty"`
	User string `json:"user,omitempty"`
}

// startPages starts the child with the module of a peer. The module finds the settings in
// process.argv, from the fourth on.
func startPages(in place, module string, settings ...string) (*pageChild, error) {
	if err := writeScripts(in, "page.mjs", module, "ask.mjs", "patient.mjs"); err != nil {
		return nil, err
	}
	c := &pageChild{done: make(chan struct{}), answers: map[int]chan pageLine{}, tabs: map[int]*pageTab{}}
	c.cmd = bound.To(exec.Command("node", append([]string{filepath.Join(in.dir, "page.mjs"), filepath.Join(in.dir, module)}, settings...)...), syscall.SIGKILL)
	log, err := os.Create(filepath.Join(in.dir, "page.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	c.cmd.Stderr = log
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go c.listen(out)
	return c, nil
}

// needs returns a function that tells which packages of npm are missing.
func needs(packages ...string) func(config) error {
	return func(c config) error { return npm.Missing(c.NodeModules, packages...) }
}

// listen hands out what the child says, until it ends.
func (c *pageChild) listen(out io.Reader) {
	defer close(c.done)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var l pageLine
		if json.Unmarshal(lines.Bytes(), &l) != nil {
			continue // a library printed something
		}
		c.mu.Lock()
		answer, t := c.answers[l.ID], c.tabs[l.Tab]
		delete(c.answers, l.ID)
		c.mu.Unlock()
		switch {
		case answer != nil:
			answer <- l
		case t == nil:
		case l.Gone:
			t.end()
		default:
			t.show(change{All: l.All, Joins: l.Joins, Leaves: l.Leaves})
		}
	}
	c.cmd.Wait()
}

// call sends a command, and waits for its answer.
func (c *pageChild) call(ctx context.Context, command pageCommand) (l pageLine, err error) {
	answer := make(chan pageLine, 1)
	c.mu.Lock()
	c.last++
	command.ID = c.last
	c.answers[command.ID] = answer
	b, err := json.Marshal(command)
	if err == nil {
		_, err = c.in.Write(append(b, '\n'))
	}
	c.mu.Unlock()
	if err != nil {
		return l, err
	}
	select {
	case l = <-answer:
	case <-ctx.Done():
		return l, ctx.Err()
	case <-c.done:
		return l, errors.New("the pages' process has ended")
	}
	if l.Error != "" {
		return l, errors.New(l.Error)
	}
	return l, nil
}

func (c *pageChild) open(ctx context.Context, addr, user string) (tab, error) {
	return c.enter(ctx, pageCommand{Do: "open", Addr: addr, User: user}, func(change) {})
}

func (c *pageChild) watch(ctx context.Context, addr string, show func(change)) (tab, error) {
	return c.enter(ctx, pageCommand{Do: "watch", Addr: addr, User: watcherName}, show)
}

func (c *pageChild) enter(ctx context.Context, command pageCommand, show func(change)) (tab, error) {
	t := &pageTab{closer: newCloser(), child: c, show: show}
	c.mu.Lock()
	c.last++
	t.number = c.last
	c.tabs[t.number] = t
	c.mu.Unlock()
	command.Tab = t.number
	if _, err := c.call(ctx, command); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// roster asks the peer at an address who is there.
func (c *pageChild) roster(ctx context.Context, addr string) ([]string, error) {
	l, err := c.call(ctx, pageCommand{Do: "roster", Addr: addr})
	return l.Users, err
}

// stop ends the child, and all of its pages.
func (c *pageChild) stop() {
	c.in.Close()
	c.cmd.Process.Kill()
	<-c.done
}

// A pageTab is a page of the child.
type pageTab struct {
	closer
	child  *pageChild
	number int
	show   func(change)
}

func (t *pageTab) close() {
	t.child.mu.Lock()
	_, ok := t.child.tabs[t.number]
	delete(t.child.tabs, t.number)
	t.child.mu.Unlock()
	if ok {
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		t.child.call(ctx, pageCommand{Do: "close", Tab: t.number}) // the page is given up in any case
	}
	t.end()
}
