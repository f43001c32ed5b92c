package main

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Prosody is an XMPP server. Contacts are rosters: a watcher is subscribed to its persons, and
// a person's roster says so, too. Persons have connections, and tell the server themselves that
// they come and go. The server is limited to what presence needs, without encryption.

const xmppAddr = "127.0.0.1:15222"

const prosodyConfig = `
modules_enabled = { "roster"; "saslauth"; }
modules_disabled = { "offline"; "s2s"; }
authentication = "internal_plain"
allow_unencrypted_plain_auth = true
c2s_require_encryption = false
c2s_ports = { 15222 }
c2s_interfaces = { "127.0.0.1" }
data_path = %q
pidfile = %q
run_as_root = true
log = { { levels = { min = "error" }, to = "console" } }
network_settings = { read_timeout = 86400 }
VirtualHost "localhost"
`

func missingProsody(config) error {
	if _, err := exec.LookPath("prosody"); err != nil {
		return errors.New("install it: apt-get install prosody")
	}
	if conn, err := net.Dial("tcp", xmppAddr); err == nil {
		conn.Close()
		return errors.New("something listens at " + xmppAddr)
	}
	return nil
}

// prosody writes the accounts and the rosters, and returns the server.
func prosody(cfg config, dir string) (*exec.Cmd, error) {
	follow := make([][]string, cfg.Persons)
	for w := range cfg.Watchers {
		var ids []string
		for _, p := range contacts(cfg, w) {
			ids = append(ids, personID(p))
			follow[p] = append(follow[p], watcherID(w))
		}
		if err := account(dir, watcherID(w), "to", ids); err != nil {
			return nil, err
		}
	}
	for p, watchers := range follow {
		if err := account(dir, personID(p), "from", watchers); err != nil {
			return nil, err
		}
	}
	file := filepath.Join(dir, "prosody.cfg.lua")
	err := os.WriteFile(file, fmt.Appendf(nil, prosodyConfig, dir, filepath.Join(dir, "pid")), 0o600)
	return exec.Command("prosody", "--config", file, "-F"), err
}

func watcherID(n int) string { return fmt.Sprint("w", n) }

// account writes a user with a roster.
func account(dir, id, subscription string, contacts []string) error {
	var roster strings.Builder
	roster.WriteString("return {\n\t[false] = { [\"version\"] = 1; };\n")
	for _, c := range contacts {
		fmt.Fprintf(&roster, "\t[\"%s@localhost\"] = { [\"subscription\"] = \"%s\"; [\"groups\"] = {}; };\n", c, subscription)
	}
	roster.WriteString("};\n")
	for store, content := range map[string]string{"accounts": "return { [\"password\"] = \"secret\"; };\n", "roster": roster.String()} {
		folder := filepath.Join(dir, "localhost", store)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, id+".dat"), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func awaitPort(addr string) error {
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
			return nil
		}
		if time.Now().After(end) {
			return err
		}
	}
}

// login opens a stream of XMPP, and does not say yet that its user is there.
func login(addr, id string) (net.Conn, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	const open = `<stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' to='localhost' version='1.0'>`
	r := bufio.NewReader(conn)
	plain := base64.StdEncoding.EncodeToString([]byte("\x00" + id + "\x00secret"))
	conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	for _, step := range []struct{ say, want string }{
		{open, "</stream:features>"},
		{"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>" + plain + "</auth>", "<success"},
		{open, "</stream:features>"},
		{"<iq type='set' id='b'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'><resource>r</resource></bind></iq>", "</iq>"},
	} {
		if _, err = conn.Write([]byte(step.say)); err == nil {
			err = awaitText(r, step.want)
		}
		if err != nil {
			conn.Close()
			return nil, err
		}
	}
	return conn, conn.SetReadDeadline(time.Time{})
}

func openProsody(addr string, n int, _ []int) (*watcher, error) {
	conn, err := login(addr, watcherID(n))
	if err != nil {
		return nil, err
	}
	_, err = conn.Write([]byte("<presence/>"))
	return &watcher{conn, scanXML}, err
}
