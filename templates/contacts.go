package templates

import (
	"cmp"
	"context"
	"html/template"

	"github.com/rollcall-go/rollcall/presence"
)

// defaultContacts is how many contacts a list shows, unless the template gives a number.
const defaultContacts = 100

// contacts renders the visitor's contacts, the dearest first, as the visitor may see them. A
// guest has none. The order does not depend on who is online, so nothing moves under the
// visitor's pointer when a contact comes online.
func (e *peopleElements) contacts(options ...any) (template.HTML, error) {
	ws := e.workshop
	texts := ws.cfg.Texts.People
	o, err := elementOptions{max: defaultContacts, label: texts.Contacts}.with("contacts", options, "max", "label")
	if err != nil || !e.hasPeople() || !e.visitor.SignedIn() {
		return "", err
	}
	var people []presence.Person
	var users []presence.User
	err = e.askOwn(func(ctx context.Context) (err error) {
		people, err = ws.source.Contacts(ctx, e.visitor.User.ID, min(o.max, presence.MaxWatched)) // the script watches no more
		if err == nil {
			users = ws.usersOf(ctx, people)
		}
		return err
	})
	b := newMarkup(1024 + 700*len(people))
	b.raw(`<presence-part class="presence-contacts" src="`).text(ws.prefix).raw(`" lang="`).text(ws.cfg.Texts.Lang).raw(`" data-people="contacts"`).raw(ws.words)
	b.raw(` data-live="off"><section class="presence not-prose" aria-label="`).text(o.label).raw(`">`)
	switch {
	case err != nil:
		b.raw(`<p class="presence-unknown">`).text(ws.cfg.Texts.Unknown).raw("</p>")
	case len(people) == 0:
		b.raw(`<p class="presence-empty">`).text(texts.NoContacts).raw("</p>")
	default:
		ws.contactList(b, people, users)
	}
	return e.element(b.raw("</section></presence-part>").html()), nil
}

// contactList writes the number of contacts who are online, and all contacts.
func (ws *workshop) contactList(b *markup, people []presence.Person, users []presence.User) {
	online := 0
	for _, person := range people {
		if person.Online {
			online++
		}
	}
	b.raw(`<p class="presence-counts"><span class="presence-figure"><data value="`).int(online).raw(`" data-count="online">`).text(ws.locale.number(online))
	b.raw(`</data> <span>`).text(ws.locale.text(ws.cfg.Texts.People.Online, online)).raw(`</span></span> <span class="presence-live">`)
	b.text(ws.cfg.Texts.Live).raw(`</span></p><ul class="presence-people" role="list">`)
	for i, person := range people {
		b.raw("<li").state(person).raw(">").face(users[i]).raw(` <span class="presence-who">`).named(users[i]).raw(` <span class="presence-line">`)
		ws.note(b, person).raw("</span></span></li>")
	}
	b.raw(`</ul><p class="presence-lost" role="status"></p><p class="presence-said" role="status"></p>`)
}

// usersOf returns the names, pictures and addresses of people. For people who are online, presence
// has them. For the others, it asks the site's Config.Users. It asks the site about everybody, so
// neither the call nor its duration reveals who is hidden.
func (ws *workshop) usersOf(ctx context.Context, people []presence.Person) []presence.User {
	users := make([]presence.User, len(people))
	if ws.cfg.Users != nil {
		ids := make([]presence.UserID, len(people))
		for i, person := range people {
			ids[i] = person.ID
		}
		if known, err := ws.cfg.Users(ctx, localIDs(ids)); err == nil && len(known) == len(users) {
			copy(users, known)
		}
	}
	for i, person := range people {
		user := &users[i]
		user.ID = person.ID
		user.Name, user.Avatar, user.URL = cmp.Or(person.Name, user.Name), cmp.Or(person.Avatar, user.Avatar), cmp.Or(person.URL, user.URL)
	}
	return users
}

// face writes the picture of a user, or the initials of the user's name.
func (m *markup) face(u presence.User) *markup {
	m.raw(`<span class="presence-avatar presence-hue-`).int(hue(string(u.ID.Local()))).raw(`" aria-hidden="true">`).text(initials(u.DisplayName()))
	if avatar := link(u.Avatar); avatar != "" {
		m.raw(`<img src="`).text(avatar).raw(`" alt="">`)
	}
	return m.raw("</span>")
}
