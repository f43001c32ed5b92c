package main

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers/client"
	"github.com/rollcall-go/rollcall/presence"
)

func TestPrinter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := newPrinter(&out, false)
		totals := func(n int) client.Totals { return client.Totals{Topic: "site", Cursor: "x", Total: n, Guests: 3} }
		crowd := make([]presence.Member, 25)
		for i := range crowd {
			crowd[i] = presence.Member{User: presence.User{ID: presence.UserID("u" + string(rune('a'+i)))}}
		}
		p.print(client.State{Totals: totals(25), Users: crowd})
		for n := range 130 { // a count a second, for two minutes and a little
			p.print(client.Count{Totals: totals(20_000 + n)})
			time.Sleep(time.Second)
		}
		p.print(client.Lost{Err: io.EOF}) // as every 15 minutes
		p.print(client.Welcome{})
		p.print(client.State{Totals: totals(1), Users: crowd[:1]})
		p.print(client.Lost{Err: client.ErrSilent})
		p.print(client.Lost{Err: client.ErrSilent})
		p.print(client.Welcome{})
		var got []string
		for line := range strings.Lines(out.String()) {
			got = append(got, strings.TrimSuffix(line[len("00:00:00  "):], "\n"))
		}
		want := []string{
			"25 online, and 3 guests: ua, ub, uc, ud, ue, uf, ug, uh, ui, uj, uk, ul, um, un, uo, up, uq, ur, us, ut, …",
			"20000 online, too many to list",
			"20060 online, too many to list",
			"20120 online, too many to list",
			"+ ua                            1 online",
			"connection lost, connecting again: the server is silent",
			"connected again",
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}
