package templates

import (
	"encoding/json"
	"html/template"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// feedElements show the visitor's inbox, as a bell and as a list of notifications, and rooms. They
// need a Config.Feeds.
type feedElements struct {
	*visit
	inbox inbox
}

// A page of notifications has as many items as a state event has, unless the template gives a number.
const (
	defaultItems = feed.PageItems
	maxItems     = feed.MaxPage
)

// An inbox is what a page knows of its visitor's inbox.
type inbox struct {
	asked, known bool
	head         feed.Head
}

// cursor writes the attribute with the version of the feed that an element shows. If an element
// has none, the script waits for the first state.
func (m *markup) cursor(c presence.Cursor) *markup {
	return m.raw(` cursor="`).text(string(c)).raw(`"`)
}

// unread writes the counters of an inbox, and its cursor.
func (ws *workshop) unread(b *markup, name feed.Name, h feed.Head) {
	b.cursor(ws.feeds.Cursor(name, h)).raw(` data-unread="`).int(h.Unread).raw(`" data-unseen="`).int(h.Unseen).raw(`"`)
}

// feedElement begins the element of a feed. words are the texts that the script needs.
func (ws *workshop) feedElement(b *markup, class template.HTML, topic presence.Topic, show, words template.HTML) *markup {
	b.raw(`<presence-part class="`).raw(class).raw(`" src="`).text(ws.prefix).raw(`" lang="`).text(ws.cfg.Texts.Lang)
	return b.raw(`" data-feed="`).text(string(topic.Local())).raw(`" data-show="`).raw(show).raw(`"`).raw(words)
}

// wordsOf returns the attribute with texts for the script. They are not in the page's head,
// because few pages need them.
func wordsOf(texts map[string]any) template.HTML {
	words, err := json.Marshal(texts)
	if err != nil {
		return "" // it cannot fail with strings and Plurals
	}
	return ` data-words="` + escaped(string(words)) + `"`
}

// feedParts are the parts of feed elements that are the same on all pages.
type feedParts struct {
	bell       bellParts
	list, room template.HTML // the words for the script
}

func (ws *workshop) newFeedParts() feedParts {
	texts := ws.cfg.Texts.Feeds
	return feedParts{
		bell: ws.newBellParts(texts.Notifications),
		list: wordsOf(map[string]any{"count": texts.Unread, "fresh": texts.Fresh}),
		room: wordsOf(map[string]any{"fresh": texts.NewPosts, "removed": texts.Removed}),
	}
}

// fresh writes the button that shows new items. The script gives it a text when there are any.
func (m *markup) fresh() *markup {
	return m.raw(`<button type="button" class="presence-fresh" hidden></button>`)
}

// said writes two empty texts for the script: that the connection is lost, and news for screen
// readers.
func (m *markup) said() *markup {
	return m.raw(`<p class="presence-lost" role="status"></p><p class="presence-said" role="status"></p>`)
}
