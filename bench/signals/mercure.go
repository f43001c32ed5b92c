package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Mercure is a hub of Server-Sent Events. Its free build has no transport between nodes, so
// there is one, which keeps updates in memory. Who types tells the site, and the site publishes:
// here that is this program, over connections that stay open.

const mercureAddr = "127.0.0.1:15380"

const mercureKey = "a key of at least thirty-two bytes"

const mercureConfig = `{
	admin off
	auto_https off
	persist_config off
	log {
		level ERROR
	}
}
http://127.0.0.1:15380 {
	mercure {
		protocol_version_compatibility 8
		anonymous
		transport local
		publisher_jwt "` + mercureKey + `" HS256
		heartbeat 1h
	}
}
`

func missingMercure(cfg config) error {
	if _, err := exec.LookPath(cfg.Mercure); err != nil {
		return errors.New("the program is not installed: see bench/signals/README.md, and -mercure")
	}
	if conn, err := net.Dial("tcp", mercureAddr); err == nil {
		conn.Close()
		return errors.New("something listens at " + mercureAddr)
	}
	return nil
}

func mercure(cfg config, _ *bus, dir string) (*exec.Cmd, error) {
	file := filepath.Join(dir, "Caddyfile")
	err := os.WriteFile(file, []byte(mercureConfig), 0o600)
	cmd := exec.Command(cfg.Mercure, "run", "--config", file, "--adapter", "caddyfile")
	cmd.Env = append(os.Environ(), "HOME="+dir)
	return cmd, err
}

// awaitPort waits until something listens.
func awaitPort(addr string) error {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(end) {
			return err
		}
	}
}

func openMercure(addr string, _ int) (s socket, rest []byte, err error) {
	s, err = dial(addr)
	if err != nil {
		return s, nil, err
	}
	fmt.Fprintf(s, "GET /.well-known/mercure?topic=%s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n\r\n", url.QueryEscape(topic), addr)
	head, err := s.await(nil, "text/event-stream")
	if err != nil {
		s.Close()
		return s, nil, err
	}
	return s, append([]byte(":"), head...), nil
}

var site = http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, MaxConnsPerHost: 64}}

// sayMercure publishes, and does not wait.
func sayMercure(m *member, at time.Time) error {
	form := url.Values{"topic": {topic}, "type": {"typing"}, "data": {word(m.n, at)}}
	r, err := http.NewRequest("POST", "http://"+mercureAddr+"/.well-known/mercure", strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Authorization", "Bearer "+mercureToken)
	go func() {
		answer, err := site.Do(r)
		if err != nil {
			return // the words are missing, then
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			fmt.Fprintln(os.Stderr, "mercure:", answer.Status)
		}
	}()
	return nil
}

// mercureToken lets the site publish.
var mercureToken = func() string {
	part := func(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
	text := part([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + part([]byte(`{"mercure":{"publish":["*"]}}`))
	mac := hmac.New(sha256.New, []byte(mercureKey))
	mac.Write(bytes.TrimSpace([]byte(text)))
	return text + "." + part(mac.Sum(nil))
}()
