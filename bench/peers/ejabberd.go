package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"text/template"
	"time"

	"github.com/rollcall-go/rollcall/internal/bound"
)

//go:embed ejabberd.yml
var ejabberdConfig string

// xmppKey signs the tokens of a site's users.
const xmppKey = "a key of at least thirty-two bytes"

// ejabberdValues are what a node's configuration has of its own.
type ejabberdValues struct {
	Port, Key string
	Fixed     bool
}

func ejabberdText(values ejabberdValues) (string, error) {
	t, err := template.New("").Parse(ejabberdConfig)
	var text strings.Builder
	if err == nil {
		err = t.Execute(&text, values)
	}
	return text.String(), err
}

// An ejabberdFleet is two nodes of Erlang that are joined to one cluster, with an epmd of their
// own. Users are in a room. Debian's ejabberdctl is not used: it runs a node as another user, and
// as a grandchild.
type ejabberdFleet struct {
	pagedFleet
	dir      string
	fixed    bool
	epmdPort string
	epmd     *exec.Cmd
	stopJob  context.CancelFunc

	mu      sync.Mutex
	members []int // nodes of the cluster
}

func missingEjabberd(c config) error {
	for _, program := range []string{"erl", "epmd", "ejabberdctl"} {
		if _, err := exec.LookPath(program); err != nil {
			return errors.New("install it: apt-get install ejabberd")
		}
	}
	return needs("ws")(c)
}

// prepareEjabberd returns the function that prepares a fleet. With fixes it has stream
// management, notices clients that vanish within half a minute, and touches the room every five
// seconds.
func prepareEjabberd(fixed bool) func(context.Context, place) (fleet, error) {
	return func(ctx context.Context, in place) (fleet, error) {
		f := &ejabberdFleet{dir: in.dir, fixed: fixed, stopJob: func() {}}
		f.nodes = &nodes{dir: in.dir, command: f.run, ready: f.answers}
		_, f.epmdPort, _ = net.SplitHostPort(freeAddr())
		f.epmd = bound.To(exec.Command("epmd", "-port", f.epmdPort, "-address", "127.0.0.1"), syscall.SIGKILL)
		if err := f.epmd.Start(); err != nil {
			return nil, err
		}
		settings := xmppSettings{Path: "ws", Key: xmppKey, API: true, Sessions: fixed}
		if fixed {
			// A leave that a node tells as it is deployed is shown after the second.
			settings.Resume, settings.Patience = 10, 5000
			var every context.Context
			every, f.stopJob = context.WithCancel(context.Background())
			go f.touch(every)
		}
		return f, f.openPages(startXMPP(in, settings))
	}
}

func nodeName(node int) string { return fmt.Sprintf("ejabberd%d@localhost", node) }

// erl returns a process of Erlang.
func (f *ejabberdFleet) erl(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("erl", append([]string{"-setcookie", "peers", "-start_epmd", "false", "-noinput",
		"-kernel", "inet_dist_use_interface", "{127,0,0,1}"}, args...)...)
	libraries, _ := filepath.Glob("/usr/lib/*/ejabberd-*")
	if len(libraries) > 0 {
		cmd.Env = append(os.Environ(), "ERL_LIBS="+filepath.Dir(libraries[0]))
	}
	cmd.Env = append(cmd.Env, "HOME="+f.dir, "ERL_EPMD_PORT="+f.epmdPort,
		"EJABBERD_CONFIG_PATH="+filepath.Join(dir, "ejabberd.yml"), "EJABBERD_LOG_PATH="+filepath.Join(dir, "ejabberd.log"),
		"ERL_CRASH_DUMP="+filepath.Join(dir, "crash"), "ERL_CRASH_DUMP_SECONDS=0")
	cmd.Dir = dir
	return cmd
}

// run returns a node's process. What it knows stays in its directory.
func (f *ejabberdFleet) run(node int, addr string) (*exec.Cmd, error) {
	dir := filepath.Join(f.dir, strconv.Itoa(node))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	key := filepath.Join(dir, "key")
	text, err := ejabberdText(ejabberdValues{port, key, f.fixed})
	if err != nil {
		return nil, err
	}
	jwk, err := json.Marshal(map[string]string{"kty": "oct", "k": base64.RawURLEncoding.EncodeToString([]byte(xmppKey))})
	if err == nil {
		err = os.WriteFile(key, jwk, 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "ejabberd.yml"), []byte(text), 0o600)
	}
	// +sbwt: Erlang's threads do not spin while they wait, since all nodes share two cores.
	return f.erl(dir, "-sname", nodeName(node), "+K", "true", "+P", "250000", "+sbwt", "none", "-mnesia", "dir", strconv.Quote(dir), "-s", "ejabberd"), err
}

// start starts a node. The first one is a cluster, and each other one joins it:
// https://docs.ejabberd.im/admin/guide/clustering/#adding-a-node-to-the-cluster.
func (f *ejabberdFleet) start(ctx context.Context, node int) error {
	if err := f.nodes.start(ctx, node); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.Contains(f.members, node) {
		return nil
	}
	for _, m := range f.members {
		if f.answers(ctx, f.addr(m)) != nil {
			continue
		}
		if err := f.control(node, "join_cluster", nodeName(m)); err != nil {
			return err
		}
		if err := f.await(ctx, node); err != nil {
			return err
		}
		break
	}
	f.members = append(f.members, node)
	return nil
}

// await waits until a node answers.
func (f *ejabberdFleet) await(ctx context.Context, node int) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		err := f.answers(ctx, f.addr(node))
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// control does what ejabberdctl does with a command.
func (f *ejabberdFleet) control(node int, words ...string) error {
	cmd := f.erl(f.dir, append([]string{"-sname", "control@localhost", "-hidden", "-s", "ejabberd_ctl", "-extra", nodeName(node)}, words...)...)
	if out, err := bound.To(cmd, syscall.SIGKILL).CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w: %s", words, err, out)
	}
	return nil
}

// answers returns nil once the node's API does.
func (f *ejabberdFleet) answers(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second) // a node that starts may never answer
	defer cancel()
	return callAPI(ctx, addr, "status", map[string]string{})
}

func callAPI(ctx context.Context, addr, command string, args map[string]string) error {
	body, err := json.Marshal(args)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, "POST", "http://"+addr+"/api/"+command, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	io.Copy(io.Discard, answer.Body)
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	return nil
}

// touch changes the title of the room every five seconds, as a job of cron would. The room tells
// its occupants, and finds that the messages to those of a dead node come back. No documentation
// has this; a room of ejabberd has no other way to notice.
func (f *ejabberdFleet) touch(ctx context.Context) {
	for node := 1; ctx.Err() == nil; node = 3 - node {
		short, cancel := context.WithTimeout(ctx, time.Second)
		callAPI(short, f.addr(node), "change_room_option", map[string]string{"name": "room",
			"service": "conference.localhost", "option": "title", "value": time.Now().String()})
		<-short.Done()
		cancel()
		select {
		case <-time.After(4 * time.Second):
		case <-ctx.Done():
		}
	}
}

// stop stops a node as https://docs.ejabberd.im/admin/guide/managing/ says.
func (f *ejabberdFleet) stop(node int) error {
	err := f.control(node, "stop")
	return errors.Join(err, f.nodes.stop(node))
}

func (f *ejabberdFleet) close() {
	f.stopJob()
	f.pagedFleet.close()
	f.epmd.Process.Kill()
	f.epmd.Wait()
}

func ejabberdPeer(name, says, needs string, slowest, renewal time.Duration, fixed bool) *peer {
	return &peer{name: name, says: says, year: "2023", needs: needs, slowest: slowest, renewal: renewal, without: []ingredient{aRedis, aLeanPage}, missing: missingEjabberd, prepare: prepareEjabberd(fixed)}
}

var (
	ejabberd      = ejabberdPeer("ejabberd", "23.01, two nodes joined; users are in a room (MUC), pages over XMPP and WebSocket", "a cluster beside the site; 0 lines", 5*time.Minute, 0, false)
	ejabberdFixed = ejabberdPeer("ejabberd, with fixes", "stream management for 10 s, and a page that keeps its session and shows a leave 5 s later; clients that vanish are noticed in 20 s; a job touches the room every 5 s; the roster is `connected_users_vhost`", "a cluster beside the site, a job; 60 lines in the page", 30*time.Second, 5*time.Second, true)
)
