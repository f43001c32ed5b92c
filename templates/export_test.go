package templates

import (
	"encoding/json"

	"github.com/rollcall-go/rollcall/presence"
)

// Number and Text are what a page in a language says of n.

func Number(lang string, n int) string { return newLocale(lang).number(n) }

func Text(lang string, p Plural, n int) string { return newLocale(lang).text(p, n) }

// PeopleSource is where people come from.
type PeopleSource = peopleSource

// PeopleFrom has people come from another source than the tracker.
func (ws *Widgets) PeopleFrom(s PeopleSource) { ws.source = s }

// FeedSource is where feeds come from.
type FeedSource = feedSource

// FeedsFrom has feeds come from another source than a Keeper.
func (ws *Widgets) FeedsFrom(s FeedSource) {
	ws.feeds = s
	texts, _ := json.Marshal(ws.cfg.Texts)
	ws.assets = newAssets(ws.cfg.Groups, texts, ws.site.Directory != nil, true)
	ws.headParts, _ = ws.newHeadParts()
}

// StandingFrom has what stands in topics come from a function.
func (ws *Widgets) StandingFrom(standing func(presence.Topic) []presence.Signal) {
	ws.standing = standing
}

// Kept returns how many lists of users and widgets are in memory.
func (ws *Widgets) Kept() (lists, widgets int) {
	_, l := ws.lists.Held()
	_, w := ws.rendered.Held()
	return len(l), len(w)
}
