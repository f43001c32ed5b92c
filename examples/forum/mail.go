package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// mailConfig says in which directory digests are written, and how long after the first unread notification.
// Without a directory there are no digests.
type mailConfig struct {
	dir   string
	after time.Duration
}

func (c *mailConfig) flags(set *flag.FlagSet, getenv func(string) string) {
	set.StringVar(&c.dir, "mail", getenv("MAIL_DIR"),
		"`directory` in which each digest of notifications becomes a file <user>-<key>.txt; of several processes without -redis each knows its own pages alone; empty: there are no digests (environment: MAIL_DIR)")
	c.after = 5 * time.Minute
	set.Var((*periodFlag)(&c.after), "mail-after", "a digest is due this `time` after the first notification that is unread")
}

// validate returns an error for a directory that cannot be used.
func (c mailConfig) validate() error {
	if c.dir == "" {
		return nil
	}
	if info, err := os.Stat(c.dir); err != nil || !info.IsDir() {
		return fmt.Errorf("there is no directory %q", c.dir)
	}
	file, err := os.CreateTemp(c.dir, tempMail)
	if err != nil {
		return fmt.Errorf("the directory %q cannot be written to", c.dir)
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// tempMail is the pattern of names of files that are being written.
const tempMail = ".digest-*.tmp"

// sender returns the function that writes digests as files, or nil without -mail or a database.
func (c mailConfig) sender(base string, feeds *feed.Keeper) func(context.Context, feed.Digest) error {
	if c.dir == "" || feeds == nil {
		return nil
	}
	return func(_ context.Context, d feed.Digest) error {
		return c.write(mailName(d), mailText(d, tenantBase(base, d.Tenant), feeds.Text))
	}
}

// write writes a digest to a file. If the file exists, the digest was sent before, and write does nothing. A
// program that reads the directory never sees half a file.
func (c mailConfig) write(name, text string) error {
	path := filepath.Join(c.dir, name)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.CreateTemp(c.dir, tempMail)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}

// maxNamePart is the largest length of each of the two parts of a file's name, in bytes. File systems allow
// names of 255 bytes.
const maxNamePart = 120

// mailName returns the name of a digest's file. Two digests always have different names, even if a file system
// ignores case. The last - separates the user from the key.
func mailName(d feed.Digest) string {
	return namePart(string(d.User), "-_.'") + "-" + namePart(d.Key, "_.") + ".txt"
}

// namePart returns a part of a file's name for an id. Small letters and digits stay unchanged, and so do
// signs, except at the start of the id. Other bytes are escaped with %. An id that is too long becomes %% and
// its hash.
func namePart(id, signs string) string {
	var name strings.Builder
	for i, r := range id {
		small := unicode.IsLetter(r) && unicode.ToLower(r) == r || unicode.IsDigit(r)
		if small || i > 0 && strings.ContainsRune(signs, r) {
			name.WriteRune(r)
			continue
		}
		_, size := utf8.DecodeRuneInString(id[i:])
		for _, b := range []byte(id[i : i+size]) {
			fmt.Fprintf(&name, "%%%02x", b)
		}
	}
	if name.Len() > maxNamePart {
		return fmt.Sprintf("%%%%%x", sha256.Sum256([]byte(id)))
	}
	return name.String()
}

// mailText returns a digest as a mail: its headers, a blank line, and the text.
func mailText(d feed.Digest, base string, text func(feed.Item) string) string {
	n := len(d.Items) + d.More
	subject := fmt.Sprintf("%d notifications", n)
	if n == 1 {
		subject = oneLine(text(d.Items[0]))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "To: %s\nSubject: %s\n\nHello %[1]s,\n\nthis happened in Hedgerow while you were away:\n", oneLine(string(d.User)), subject)
	for _, i := range d.Items {
		fmt.Fprintf(&b, "\n* %s\n", oneLine(text(i)))
		if link := oneLine(i.URL); strings.HasPrefix(link, "/") {
			fmt.Fprintf(&b, "  %s%s\n", base, link)
		} else if link != "" {
			fmt.Fprintf(&b, "  %s\n", link)
		}
	}
	if d.More > 0 {
		fmt.Fprintf(&b, "\nand %d more\n", d.More)
	}
	fmt.Fprintf(&b, "\nAll of them: %s/notifications\nThere you can also mute a thread, or all mail.\n", base)
	return b.String()
}

// oneLine returns a text without characters that could end a line.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
}
