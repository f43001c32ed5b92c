package templates

import (
	"errors"
	"fmt"
	"html/template"
	"strconv"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// room renders the element that adds new items of a room to the page, such as the posts of a thread.
// The site renders the items that it has already. head is the head of the room, which the site has
// read before those items. Without script the element shows nothing.
func (e *feedElements) room(name, head any, options ...any) (template.HTML, error) {
	if e.closed() {
		return "", nil
	}
	ws := e.workshop
	o, err := elementOptions{}.with("room", options, "list", "template", "about")
	if err != nil || !ws.hasFeeds() {
		return "", err
	}
	room, err := e.roomOf(name)
	if err != nil {
		return "", err
	}
	if room.Owner() != "" {
		return "", fmt.Errorf("templates: %w: an inbox is no room", feed.ErrInvalidName)
	}
	if o.template == "" {
		return "", errors.New(`templates: room needs the option "template", the id of the <template> of an item`)
	}
	h, known, err := headOf(head)
	if err != nil {
		return "", err
	}
	b := newMarkup(640)
	ws.feedElement(b, "presence-room", room.Topic(), "room", ws.feedParts.room).raw(` data-live="off" data-template="`).text(o.template).raw(`"`)
	if o.list != "" {
		b.raw(` data-list="`).text(o.list).raw(`"`)
	}
	if o.about != nil {
		b.raw(` data-about="`).text(*o.about).raw(`"`)
	}
	if known {
		b.cursor(ws.feeds.Cursor(room, h)).raw(` data-pos="`).text(strconv.FormatInt(h.Pos, 10)).raw(`"`)
	}
	b.raw(">")
	if o.list == "" {
		b.raw(`<div class="presence-room-items"></div>`)
	}
	return e.element(b.fresh().said().raw("</presence-part>").html()), nil
}

// roomOf returns the room that a template names, as topicOf does for topics.
func (e *feedElements) roomOf(name any) (feed.Name, error) {
	room := feed.Name(fmt.Sprint(name))
	if room.Tenant() == e.visitor.Tenant {
		room = room.Local()
	}
	room = room.In(e.visitor.Tenant)
	return room, room.Validate()
}

// headOf returns the head that a template gives, and whether it is known. A site gives nil if it
// could not read the head.
func headOf(value any) (h feed.Head, known bool, err error) {
	switch head := value.(type) {
	case nil:
		return h, false, nil
	case feed.Head:
		return head, true, nil
	case *feed.Head:
		if head == nil {
			return h, false, nil
		}
		return *head, true, nil
	}
	return h, false, fmt.Errorf("templates: the head of a room is a %T, and must be a feed.Head", value)
}
