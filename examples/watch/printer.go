package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/rollcall-go/rollcall/handlers/client"
	"github.com/rollcall-go/rollcall/presence"
)

// A printer prints events, a line each.
type printer struct {
	out     io.Writer
	several bool // topics: each line names its topic
	roster  client.Roster
	known   map[presence.Topic]bool      // topics that had a state
	counted map[presence.Topic]time.Time // when the count was printed
	lost    bool                         // the connection is lost, and a line said so
}

const (
	maxNames   = 20          // on one line
	countEvery = time.Minute // for topics that send counts only
)

func newPrinter(out io.Writer, several bool) *printer {
	return &printer{out: out, several: several, known: make(map[presence.Topic]bool), counted: make(map[presence.Topic]time.Time)}
}

func (p *printer) print(event client.Event) {
	change := p.roster.Apply(event)
	switch e := event.(type) {
	case client.Welcome:
		if p.lost {
			p.line("", "connected again")
		}
		p.lost = false
	case client.Lost:
		if !p.lost && !errors.Is(e.Err, io.EOF) { // a stream ends every 15 minutes, which is not worth a line
			p.line("", "connection lost, connecting again: "+clean(e.Err.Error()))
			p.lost = true
		}
	case client.State:
		if !p.known[e.Topic] {
			p.begin(e)
			return
		}
	case client.Count:
		if time.Since(p.counted[e.Topic]) < countEvery {
			return
		}
		p.counted[e.Topic] = time.Now()
		p.line(e.Topic, fmt.Sprintf("%d online, too many to list", e.Total))
	}
	p.changes(change)
}

// begin prints the users at the start.
func (p *printer) begin(s client.State) {
	p.known[s.Topic] = true
	text := fmt.Sprintf("%d online", s.Total)
	if s.Guests > 0 {
		text += fmt.Sprintf(", and %d guests", s.Guests)
	}
	var names []string
	for _, m := range s.Users[:min(len(s.Users), maxNames)] {
		names = append(names, name(m))
	}
	if len(names) < s.Total {
		names = append(names, "…")
	}
	if len(names) > 0 {
		text += ": " + strings.Join(names, ", ")
	}
	p.line(s.Topic, text)
}

func (p *printer) changes(c client.Change) {
	total := p.roster.Totals(c.Topic).Total
	for _, m := range c.Joined {
		p.line(c.Topic, fmt.Sprintf("+ %-24s %6d online", name(m), total))
	}
	for _, m := range c.Updated {
		p.line(c.Topic, fmt.Sprintf("~ %-24s %s", name(m), clean(string(m.Status))))
	}
	for _, l := range c.Left {
		text := fmt.Sprintf("- %-24s %6d online", name(l.User), total)
		if !l.LastSeen.IsZero() {
			text += ", last seen " + l.LastSeen.Local().Format(time.TimeOnly)
		}
		p.line(c.Topic, text)
	}
}

func (p *printer) line(topic presence.Topic, text string) {
	if p.several {
		text = fmt.Sprintf("%-12s %s", topic, text)
	}
	fmt.Fprintf(p.out, "%s  %s\n", time.Now().Format(time.TimeOnly), text)
}

func name(m presence.Member) string { return clean(m.DisplayName()) }

// clean replaces control characters, since a name from a stranger may hold an escape sequence.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return '\uFFFD'
		}
		return r
	}, text)
}
