package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// TestMailName: no id leads out of the directory, and no two digests share a file, also where
// a file system does not tell capitals from small letters.
func TestMailName(t *testing.T) {
	digests := map[string]feed.Digest{} // by name
	for _, user := range []string{
		"alice", "Alice", "alice-", "alice-b", "b", "maría-josé", "o'hara", ".", "..", "../x", "..%2fx", "/etc/passwd", `a\b`, "a b", "a%20b",
		"a\"b'c", "a:b", "-rf", "C:", "alice.txt", "\u202ealice", "e\u0301", strings.Repeat("é", 64), strings.Repeat("É", 64), strings.Repeat("É", 63) + "é",
	} {
		for _, key := range []string{"k1", "K1", "b-k1", "-b", "../../k", strings.Repeat("k", 200)} {
			d := feed.Digest{User: presence.UserID(user), Key: key}
			name := mailName(d)
			if name != filepath.Base(name) || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "-") || len(name) > 255 || strings.ContainsAny(name, "/\\\"\x00: ") {
				t.Errorf("%q, %q: got the name %q, want a safe one", user, key, name)
			}
			if other, taken := digests[strings.ToLower(name)]; taken {
				t.Errorf("%q, %q and %q, %q share the name %q", user, key, other.User, other.Key, name)
			}
			digests[strings.ToLower(name)] = d
		}
	}
	for user, want := range map[string]string{"alice": "alice-7k.txt", "maría-josé": "maría-josé-7k.txt", "a/b": "a%2fb-7k.txt"} {
		if got := mailName(feed.Digest{User: presence.UserID(user), Key: "7k"}); got != want {
			t.Errorf("%s: got %s, want %s", user, got, want)
		}
	}
}

// TestMailText: a mail has a subject, each notification with its address, and no line of a
// notification's making.
func TestMailText(t *testing.T) {
	item := func(text, url string) feed.Item { return feed.Item{Text: text, URL: url} }
	text := func(i feed.Item) string { return i.Text }
	one := mailText(feed.Digest{User: "bob", Items: []feed.Item{item("Alice replied in “Beans”\nBcc: everybody", "/threads/1#post-5")}}, "http://127.0.0.1:80", text)
	for _, want := range []string{"To: bob\nSubject: Alice replied in “Beans” Bcc: everybody\n\n", "\n  http://127.0.0.1:80/threads/1#post-5\n", "http://127.0.0.1:80/notifications\n", "mute"} {
		if !strings.Contains(one, want) {
			t.Errorf("want %q in\n%s", want, one)
		}
	}
	two := mailText(feed.Digest{User: "bob", Items: []feed.Item{item("One", ""), item("Two", "https://other.example/")}, More: 3}, "http://h", text)
	for _, want := range []string{"Subject: 5 notifications\n", "\n* One\n", "\n* Two\n  https://other.example/\n", "and 3 more"} {
		if !strings.Contains(two, want) {
			t.Errorf("want %q in\n%s", want, two)
		}
	}
}

// TestMailOnce: a digest that is sent again changes nothing, and nothing is left beside it.
func TestMailOnce(t *testing.T) {
	c := mailConfig{dir: t.TempDir()}
	for _, text := range []string{"first", "again"} {
		if err := c.write("bob-1.txt", text); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(filepath.Join(c.dir, "bob-1.txt")); string(got) != "first" {
		t.Errorf("got %q and error %v, want the first mail", got, err)
	}
	if files, _ := os.ReadDir(c.dir); len(files) != 1 {
		t.Errorf("got %v, want one file", files)
	}
	if err := c.write("no/such/bob-1.txt", "x"); err == nil {
		t.Error("want an error where there is no directory")
	}
}

// TestMailFlags: a directory that will not do stops the start, and the message names the flag.
func TestMailFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range [][]string{
		{"-mail", "/no/such/directory"}, {"-mail", file}, {"-mail-after", "99ms"}, {"-mail-after", "soon"}, {"-mail", "/proc"},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(ended(t), tt, none, &stdout, &stderr); code != 2 || strings.Count(stderr.String(), "\n") != 1 || !strings.Contains(stderr.String(), tt[0]) {
			t.Errorf("%q: got exit code %d and %q, want 2 and a line that names the flag", tt, code, &stderr)
		}
	}
	dir := t.TempDir()
	c, err := parseConfig([]string{"-mail-after", "100ms"}, func(name string) string {
		return map[string]string{"MAIL_DIR": dir}[name]
	})
	if err != nil || c.mail.dir != dir || c.mail.after != 100*time.Millisecond {
		t.Errorf("got %+v and error %v, want the directory and 100ms", c.mail, err)
	}
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Errorf("got %v, want an empty directory", files)
	}
}
