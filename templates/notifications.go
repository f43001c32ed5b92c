package templates

import (
	"context"
	"html/template"
	"net/url"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// Each form of notifications has the field do, and with it pos, or upto, or scope and how. It also
// has me, the user for whom the page was rendered.

// A listing is what a list of notifications shows.
type listing struct {
	options elementOptions
	page    feed.Page
	known   bool
	before  int64 // items below this place; 0: the newest
}

// notifications renders the visitor's notifications, the newest first, each with a form. A
// guest has none. If the request has the parameter before, the list begins below that place.
func (e *feedElements) notifications(options ...any) (template.HTML, error) {
	ws := e.workshop
	texts := ws.cfg.Texts.Feeds
	o, err := elementOptions{max: defaultItems, label: texts.Notifications}.with("notifications", options, "max", "label", "fields", "mute", "error")
	if err != nil || !ws.hasFeeds() || !e.visitor.SignedIn() {
		return "", err
	}
	name := feed.Inbox(e.visitor.User.ID)
	l := listing{options: o, before: before(e.request.URL)}
	err = e.askWithin(&e.ownWait, maxOwnWait, &e.hangs.inbox, func(ctx context.Context) (err error) {
		l.page, err = ws.feeds.Page(ctx, name, l.before, min(max(o.max, 1), maxItems))
		return err
	})
	if l.known = err == nil; l.known && !e.inbox.asked {
		e.inbox = inbox{true, true, l.page.Head}
	}
	b := newMarkup(2048 + 1280*len(l.page.Items))
	e.list(b, l)
	return e.element(b.html()), nil
}

// before returns the place below which a page of notifications begins.
func before(u *url.URL) int64 {
	at, err := strconv.ParseInt(u.Query().Get("before"), 10, 64)
	if err != nil || at < 0 {
		return 0
	}
	return at
}

// list writes the list of notifications. The list is empty while they are not known.
func (e *feedElements) list(b *markup, l listing) {
	ws, o, items := e.workshop, l.options, l.page.Items
	texts := ws.cfg.Texts.Feeds
	ws.feedElement(b, "presence-notifications", feed.InboxTopic, "list", ws.feedParts.list).raw(` data-live="off"`)
	if l.before > 0 {
		b.raw(` data-before="`).text(strconv.FormatInt(l.before, 10)).raw(`"`)
	}
	if l.known {
		ws.unread(b, feed.Inbox(e.visitor.User.ID), l.page.Head)
	}
	b.raw(`><section class="presence not-prose" aria-label="`).text(o.label).raw(`">`)
	if o.error != "" {
		b.raw(`<p class="presence-error" role="alert">`).text(o.error).raw("</p>")
	}
	e.listBar(b, l)
	b.raw(`<ul class="presence-items" role="list">`)
	for i := range items {
		e.item(b, &items[i], o)
	}
	b.raw("</ul><template>")
	e.item(b, nil, o)
	b.raw(`</template><p class="presence-empty"`).chosen(" hidden", !l.known || len(items) > 0).raw(">").text(texts.Nothing)
	b.raw(`</p><p class="presence-unknown"`).chosen(" hidden", l.known).raw(">").text(ws.cfg.Texts.Unknown).raw("</p>")
	ws.pages(b, l)
	b.said().raw("</section></presence-part>")
}

// listBar writes the bar above the list: the number of unread items, the button that shows new
// items, and the form that marks all items as read. The form leaves out items that came after this
// page was rendered.
func (e *feedElements) listBar(b *markup, l listing) {
	ws := e.workshop
	texts := ws.cfg.Texts.Feeds
	b.raw(`<div class="presence-bar"><p class="presence-counts"><span class="presence-figure"><data value="`)
	if l.known {
		b.int(l.page.Head.Unread)
	}
	b.raw(`" data-count="unread">`)
	if l.known {
		b.text(ws.locale.number(l.page.Head.Unread))
	}
	b.raw("</data> <span>").text(ws.locale.text(texts.Unread, l.page.Head.Unread)).raw(`</span></span> <span class="presence-live">`).text(ws.cfg.Texts.Live).raw("</span></p>")
	upto := int64(0)
	if len(l.page.Items) > 0 {
		upto = l.page.Items[0].Pos
	}
	b.fresh()
	e.form(b, "presence-all", l.options).field("upto", strconv.FormatInt(upto, 10), "")
	b.raw(`<button name="do" value="read"`).chosen(" disabled", upto == 0 || l.page.Head.Unread == 0).raw(">").text(texts.MarkAll).raw("</button></form>")
	b.raw("</div>")
}

// pages writes the links to newer and older pages. In a popover it writes the link to the page of
// all notifications instead.
func (ws *workshop) pages(b *markup, l listing) {
	texts, address := ws.cfg.Texts.Feeds, ws.cfg.NotificationsURL
	if l.options.popover {
		b.raw(`<p class="presence-page"><a href="`).text(address).raw(`">`).text(texts.All).raw("</a></p>")
		return
	}
	if l.before == 0 && !l.page.More {
		return
	}
	b.raw(`<p class="presence-more">`)
	if l.before > 0 {
		b.raw(`<a href="`).text(address).raw(`">`).text(texts.Newest).raw("</a>")
	}
	if items := l.page.Items; l.page.More && len(items) > 0 {
		if u, err := url.Parse(address); err == nil {
			query := u.Query()
			query.Set("before", strconv.FormatInt(items[len(items)-1].Pos, 10))
			u.RawQuery = query.Encode()
			address = u.String()
		}
		b.raw(` <a href="`).text(address).raw(`">`).text(texts.Older).raw("</a>")
	}
	b.raw("</p>")
}

// item writes an item of the list. Without an item it writes the element that the script copies
// and fills.
func (e *feedElements) item(b *markup, item *feed.Item, o elementOptions) {
	ws := e.workshop
	texts := ws.cfg.Texts.Feeds
	i, text := feed.Item{}, ""
	if item != nil {
		i, text = *item, ws.feeds.Text(*item)
	}
	b.raw(`<li data-item="`).text(i.ID).raw(`" data-pos="`).text(strconv.FormatInt(i.Pos, 10)).raw(`" data-state="`).text(i.State.String()).raw(`"`)
	if i.Type != "" {
		b.raw(` data-type="`).text(i.Type).raw(`"`)
	}
	if i.About != "" {
		b.raw(` data-about="`).text(i.About).raw(`"`)
	}
	b.raw(`><a class="presence-text" data-slot="text link"`)
	if url := link(i.URL); url != "" {
		b.raw(` href="`).text(url).raw(`"`)
	}
	b.raw(` dir="auto">`).text(text).raw(`</a> <span class="presence-meta"><b class="presence-unread" data-when="unread"`).chosen(" hidden", i.State != feed.Unread).raw(">").text(texts.New)
	b.raw(`</b> <time data-slot="time"`)
	if !i.At.IsZero() {
		at := i.At.UTC()
		b.raw(` datetime="`).text(at.Format(time.RFC3339)).raw(`" title="`).text(at.Format("2006-01-02 15:04 UTC")).raw(`">`).text(ws.ago(time.Since(at)))
	} else {
		b.raw(">")
	}
	b.raw("</time></span> ")
	e.form(b, "presence-does", o).field("pos", strconv.FormatInt(i.Pos, 10), "pos")
	b.raw(`<span class="presence-swap">`).do("read", texts.MarkRead, text, "unread", i.State != feed.Unread)
	b.do("unread", texts.MarkUnread, text, "read", i.State != feed.Read).raw("</span> ").do("archive", texts.Archive, text, "", false)
	if o.mute {
		b.raw(" ").field("scope", scopeOf(i), "scope").field("how", feed.MuteAll.String(), "").do("mute", texts.Mute, text, "", false)
	}
	b.raw("</form></li>")
}

// scopeOf returns the scope that the button of an item mutes: the item's About, or else its type.
func scopeOf(i feed.Item) string {
	if i.About != "" {
		return "about:" + i.About
	}
	return "type:" + i.Type
}

// form begins a form for notifications.
func (e *feedElements) form(b *markup, class template.HTML, o elementOptions) *markup {
	b.raw(`<form class="`).raw(class).raw(`" method="post" action="`).text(e.workshop.cfg.MarkURL).raw(`">`).raw(e.fields(o.fields))
	return e.whose(b)
}

// field writes a hidden field of a form. If slot is not empty, the script fills the field by it.
func (m *markup) field(name template.HTML, value string, slot template.HTML) *markup {
	m.raw(`<input type="hidden" name="`).raw(name).raw(`" value="`).text(value).raw(`"`)
	if slot != "" {
		m.raw(` data-slot="`).raw(slot).raw(`"`)
	}
	return m.raw(">")
}

// do writes a button of an item. Its name for screen readers includes the item's text. when is the
// state in which the item shows the button; empty: in all states.
func (m *markup) do(do template.HTML, label, text string, when template.HTML, hidden bool) *markup {
	m.raw(`<button name="do" value="`).raw(do).raw(`"`)
	if when != "" {
		m.raw(` data-when="`).raw(when).raw(`"`)
	}
	m.chosen(" hidden", hidden).raw(">").text(label).raw(`<span class="presence-said">: <span data-slot="text">`)
	return m.text(text).raw("</span></span></button>")
}
