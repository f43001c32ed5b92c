package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	centrifugoModule  = "github.com/centrifugal/centrifugo/v6"
	centrifugoVersion = "v6.9.1"
)

// A centrifugoSite is how a site uses Centrifugo.
type centrifugoSite struct {
	ttl, update time.Duration // of presence in Redis; 0: the defaults
	ping, pong  time.Duration // that notice clients who vanish; 0: the defaults
	// The page asks for presence at this interval, and shows a leave this long after the user was
	// missed. 0: it does neither, as the documentation shows.
	every, grace time.Duration
}

var (
	centrifugo = centrifugoPeer("Centrifugo", "6.9.1 as its page *Online presence* shows: a namespace with `presence`, `join_leave` and `force_push_join_leave`; the page asks for presence once it is subscribed, then follows joins and leaves; defaults: presence ttl 60 s, renewed each 27 s",
		75*time.Second, 27*time.Second, "Redis, a server beside the site; 0 lines", centrifugoSite{})
	centrifugoFixed = centrifugoPeer("Centrifugo, with fixes", "the same with presence ttl 10 s, renewed each 4 s, ping_interval 5 s, pong_timeout 4 s; the page also asks for presence each 5 s, and shows a leave 6 s after the user was missed",
		30*time.Second, 5*time.Second, "Redis, a server beside the site; 30 lines in the page", centrifugoSite{ttl: 10 * time.Second, update: 4 * time.Second, ping: 5 * time.Second, pong: 4 * time.Second, every: 5 * time.Second, grace: 6 * time.Second})
)

func centrifugoPeer(name, says string, slowest, renewal time.Duration, needs string, site centrifugoSite) *peer {
	return &peer{
		name: name, says: says, year: "2026", needs: needs, slowest: slowest, renewal: renewal,
		missing: func(c config) error {
			_, err := buildCentrifugo(c.Cache)
			return errors.Join(err, needsRedis(c))
		},
		prepare: func(_ context.Context, in place) (fleet, error) { return newCentrifugo(in, site) },
	}
}

// building is held while a server is built.
var building sync.Mutex

// buildCentrifugo builds the server, once a machine. It does so in a module of its own, so that
// the server's requirements are not those of this one.
func buildCentrifugo(cache string) (program string, err error) {
	building.Lock()
	defer building.Unlock()
	if program, err = filepath.Abs(filepath.Join(cache, "centrifugo-"+centrifugoVersion)); err != nil {
		return "", err
	}
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	dir, err := os.MkdirTemp("", "centrifugo")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	module := "module peer\n\ngo 1.26\n\nrequire " + centrifugoModule + " " + centrifugoVersion + "\n"
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(module), 0o600); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-mod=mod", "-o", program, centrifugoModule)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build Centrifugo: %w: %s", err, out)
	}
	return program, nil
}

const (
	centrifugoSecret  = "not a secret"
	centrifugoKey     = "key"
	centrifugoChannel = "site:all"
)

type centrifugoFleet struct {
	nodes
	site centrifugoSite
}

// newCentrifugoFleet returns a fleet that has no program yet.
func newCentrifugoFleet(in place, site centrifugoSite) *centrifugoFleet {
	f := &centrifugoFleet{site: site}
	f.dir = in.dir
	f.ready = func(ctx context.Context, addr string) error {
		_, err := fetch(ctx, http.DefaultClient, http.MethodGet, "http://"+addr+"/health", "", nil)
		return err
	}
	return f
}

func newCentrifugo(in place, site centrifugoSite) (fleet, error) {
	program, err := buildCentrifugo(in.Cache)
	if err != nil {
		return nil, err
	}
	f := newCentrifugoFleet(in, site)
	settings := map[string]any{
		"http_api": map[string]any{"key": centrifugoKey}, "health": map[string]any{"enabled": true},
		"log": map[string]any{"level": "error"},
		"channel": map[string]any{"namespaces": []map[string]any{{
			"name": "site", "presence": true, "join_leave": true, "force_push_join_leave": true,
			"allow_subscribe_for_client": true, "allow_presence_for_subscriber": true,
		}}},
	}
	redis := map[string]any{"address": in.redis}
	client := map[string]any{
		"token":           map[string]any{"hmac_secret_key": centrifugoSecret},
		"allowed_origins": []string{"*"},
	}
	if site.ttl > 0 {
		redis["presence_ttl"] = site.ttl.String()
		client["presence_update_interval"] = site.update.String()
		client["ping_interval"], client["pong_timeout"] = site.ping.String(), site.pong.String()
	}
	settings["engine"], settings["client"] = map[string]any{"type": "redis", "redis": redis}, client
	text, err := json.Marshal(settings)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(in.dir, "config.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, err
	}
	f.command = func(_ int, addr string) (*exec.Cmd, error) {
		host, port, _ := strings.Cut(addr, ":")
		return exec.Command(program, "--config", path, "--http_server.address", host, "--http_server.port", port), nil
	}
	return f, nil
}

func (f *centrifugoFleet) close() { f.killAll() }

// centrifugoPresence is what the server answers about a channel, by client.
type centrifugoPresence struct {
	Presence map[string]struct {
		User string `json:"user"`
	} `json:"presence"`
}

func (f *centrifugoFleet) roster(ctx context.Context, node int) ([]string, error) {
	b, err := fetch(ctx, http.DefaultClient, http.MethodPost, "http://"+f.addr(node)+"/api/presence", `{"channel":"`+centrifugoChannel+`"}`,
		func(h http.Header) { h.Set("X-API-Key", centrifugoKey) })
	if err != nil {
		return nil, err
	}
	var answer struct {
		Error  json.RawMessage
		Result *centrifugoPresence
	}
	if err := json.Unmarshal(b, &answer); err != nil {
		return nil, err
	}
	if answer.Result == nil {
		return nil, fmt.Errorf("presence: %s", answer.Error)
	}
	users := map[string]bool{}
	for _, c := range answer.Result.Presence {
		users[c.User] = true
	}
	var all []string
	for u := range users {
		all = append(all, u)
	}
	return all, nil
}

var base64URL = base64.RawURLEncoding.DecodeString

// centrifugoToken returns a JWT for a user.
func centrifugoToken(user string) string {
	part := base64.RawURLEncoding.EncodeToString
	text := part([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + part([]byte(`{"sub":"`+user+`"}`))
	mac := hmac.New(sha256.New, []byte(centrifugoSecret))
	mac.Write([]byte(text))
	return text + "." + part(mac.Sum(nil))
}

func (f *centrifugoFleet) open(ctx context.Context, addr, user string) (tab, error) {
	t := &centrifugoTab{closer: newCloser()}
	life, cancel := context.WithCancel(context.Background())
	t.cancel = cancel
	ready := make(chan struct{})
	failed := make(chan error, 1)
	go func() {
		defer t.end()
		failed <- centrifugoConnect(life, addr, user, false, func(r centrifugoReply, _ func(string) error) {
			if r.ID == centrifugoSubscribe {
				close(ready)
			}
		})
	}()
	return t, t.await(ctx, ready, failed)
}

// A centrifugoTab is a page.
type centrifugoTab struct {
	closer
	cancel context.CancelFunc
}

func (t *centrifugoTab) close() {
	t.cancel()
	<-t.done
}

func (t *centrifugoTab) await(ctx context.Context, ready <-chan struct{}, failed <-chan error) (err error) {
	select {
	case <-ready:
		return nil
	case err = <-failed:
	case <-ctx.Done():
		err = ctx.Err()
	}
	t.close()
	return err
}
