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
	sizes := flags.Bool("sizes", false, "windows of 20 alone, of 100 to 100,000 users and 0 to 32 changes a second")
	picture := flags.String("svg", "", "also draw the bytes into this file")
	flags.Parse(args)
	rows, kinds := []row{{100, 1}, {100, 10}, {2_000, 1}, {2_000, 10}, {2_000, 32}, {10_000, 32}}, kinds
	if *sizes {
		rows, kinds = nil, kinds[1:2]
		for _, online := range []int{100, 1_000, 10_000, 100_000} {
			for _, changes := range []int{0, 1, 10, 32} {
				rows = append(rows, row{online, changes})
			}
		}
	}
	if *quick {
		rows, *readers, *length = []row{{500, 32}}, 20, 3*time.Second
	}
	chart := newChart(*readers, *length)
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
			chart.add(r, k, got)
		}
		fmt.Fprintf(w, "| %d | %d | %s |\n", r.online, r.changes, strings.Join(cells, " | "))
	}
	return chart.write(*picture)
}

// A row is how many are online, and how many come and go a second.
type row struct{ online, changes int }

// A kind is what pages ask for. Dots are of users who stay, but for one in ten.
type kind struct {
	name   string
	short  string // in the picture
	query  string
	dots   bool
	hidden bool
}

var kinds = []kind{
	{name: "whole roster", short: "all", query: "limit=20"},
	{name: "window of 20", short: "window", query: "window=20"},
	{name: "window of 20, 10 dots", short: "and dots", query: "window=20", dots: true},
	{name: "nobody sees it", short: "hidden", query: "window=20", hidden: true},
}
