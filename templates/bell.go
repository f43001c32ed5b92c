package templates

import (
	"context"
	"html/template"
	"strings"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// mostShown is the highest number that a bell shows. It shows a higher number as "99+".
const mostShown = 99

// bellIcon is 24 by 24 pixels, in the colour of the text.
const bellIcon = `<svg class="presence-icon" viewBox="0 0 24 24" width="24" height="24" fill="none" stroke="currentColor" stroke-width="1.75" ` +
	`stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false"><path d="M6 10a6 6 0 0 1 12 0c0 5 2 6.5 2 6.5H4S6 15 6 10"/><path d="M10 20a2.3 2.3 0 0 0 4 0"/></svg>`

// bell renders the link to the visitor's notifications, with the number of unread ones. A
// guest has no bell. While the database is slow or out, the bell has no number (rule F10).
func (e *feedElements) bell(options ...any) (template.HTML, error) {
	ws := e.workshop
	texts := ws.cfg.Texts.Feeds
	o, err := elementOptions{label: texts.Notifications}.with("bell", options, "label", "popover", "fields", "mute", "word")
	if err != nil || !ws.hasFeeds() || !e.visitor.SignedIn() {
		return "", err
	}
	name := feed.Inbox(e.visitor.User.ID)
	head, known := e.unreadOf(name)
	parts := ws.feedParts.bell
	if o.label != parts.label {
		parts = ws.newBellParts(o.label)
	}
	b := newMarkup(1280).raw(parts.open)
	label, number := o.label, ""
	if known {
		ws.unread(b, name, head)
	}
	switch {
	case head.Unread > mostShown:
		number = ws.locale.number(mostShown) + "+"
	case head.Unread > 0:
		number = ws.locale.number(head.Unread)
	}
	if number != "" {
		label = ws.locale.text(parts.text, head.Unread)
	}
	b.raw(parts.link)
	if o.word { // hidden from screen readers, which read the label below
		b.raw(`<span class="presence-word" aria-hidden="true">`).text(o.label).raw(`</span>`)
	}
	b.raw(`<span class="presence-badge" aria-hidden="true">`).text(number).raw(`</span><span class="presence-said">`).text(label).raw("</span></a>")
	if o.popover {
		b.raw("<template>")
		e.list(b, listing{options: o})
		b.raw("</template>")
	}
	return e.element(b.raw("</presence-bell></presence-part>").html()), nil
}

// unreadOf returns the head of the visitor's inbox, and whether it is known. A page asks for it
// once, so that all of its elements show the same number.
func (e *feedElements) unreadOf(name feed.Name) (feed.Head, bool) {
	if in := &e.inbox; !in.asked {
		in.asked = true
		err := e.askOf(&e.hangs.feeds, func(ctx context.Context) (err error) {
			in.head, err = e.workshop.feeds.Head(ctx, name)
			return err
		})
		if in.known = err == nil; !in.known {
			in.head = feed.Head{} // an old number is not shown
		}
	}
	return e.inbox.head, e.inbox.known
}

// bellParts are the parts that all bells with one label share.
type bellParts struct {
	label string
	text  Plural        // the label with a number
	open  template.HTML // the element, up to the attributes with the numbers
	link  template.HTML // the start of the link, with the icon
}

func (ws *workshop) newBellParts(label string) bellParts {
	parts := bellParts{label: label, text: ws.cfg.Texts.Feeds.Bell}
	for _, form := range []*string{&parts.text.Zero, &parts.text.One, &parts.text.Two, &parts.text.Few, &parts.text.Many, &parts.text.Other} {
		*form = strings.ReplaceAll(*form, "{label}", label)
	}
	words := wordsOf(map[string]any{"label": label, "unread": parts.text})
	parts.open = ws.feedElement(newMarkup(512), "presence-inbox", feed.InboxTopic, "bell", words).raw(`><presence-bell`).html()
	parts.link = newMarkup(512).raw(`><a class="presence-bell" href="`).text(ws.cfg.NotificationsURL).raw(`">` + bellIcon).html()
	return parts
}
