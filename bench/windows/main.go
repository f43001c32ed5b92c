// Command windows shows what a page costs that shows a few users of a large site: bytes and CPU, for
// streams of the whole roster, of a window, of a window with dots, and of a page that nobody sees. README.md
// says what is measured.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rollcall-go/rollcall/bench/internal/child"
)

func main() {
	if err := play(child.Role(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "windows:", err)
		os.Exit(1)
	}
}

// play is what a process of this program does: the parent has the readers, and its child is the site.
func play(role string, args []string, w io.Writer) error {
	most := unix.Rlimit{}
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &most); err == nil {
		most.Cur = most.Max
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &most)
	}
	if role == "site" {
		return child.Serve("Site", new(Site))
	}
	flags := flag.NewFlagSet("windows", flag.ExitOnError)
	quick := flags.Bool("quick", false, "one row, briefly")
	readers := flags.Int("n", 1000, "readers of each kind")
	length := flags.Duration("for", 30*time.Second, "each measurement")
	flags.Parse(args)
	rows := []row{{100, 1}, {100, 10}, {2_000, 1}, {2_000, 10}, {2_000, 32}, {10_000, 32}}
	if *quick {
		rows, *readers, *length = []row{{500, 32}}, 20, 3*time.Second
	}
	fmt.Fprintf(w, "%d readers of each kind, %v each; bytes of a page a second, and the server's CPU for 1,000 pages in %% of a core\n\n", *readers, *length)
	head, line := "| online | changes a second |", "|---:|---:|"
	for _, k := range kinds {
		head, line = head+" "+k.name+" |", line+"---:|"
	}
	fmt.Fprintln(w, head+"\n"+line)
	for _, r := range rows {
		cells := make([]string, 0, len(kinds))
		for _, k := range kinds {
			got, err := measure(r, k, *readers, *length)
			if err != nil {
				return fmt.Errorf("%d online, %d changes a second, %s: %w", r.online, r.changes, k.name, err)
			}
			cells = append(cells, fmt.Sprintf("%.0f B, %.1f %%", got.bytes, got.cpu))
		}
		fmt.Fprintf(w, "| %d | %d | %s |\n", r.online, r.changes, strings.Join(cells, " | "))
	}
	return nil
}

// A row is how many are online, and how many come and go a second.
type row struct{ online, changes int }

// A kind is what pages ask for. Dots are of users who stay, but for one in ten.
type kind struct {
	name   string
	query  string
	dots   bool
	hidden bool
}

var kinds = []kind{
	{name: "whole roster", query: "limit=20"},
	{name: "window of 20", query: "window=20"},
	{name: "window of 20, 10 dots", query: "window=20", dots: true},
	{name: "nobody sees it", query: "window=20", hidden: true},
}
