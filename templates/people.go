package templates

import (
	"context"
	"errors"
	"html/template"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// peopleElements show users as the visitor may see them, and the visitor's own devices and
// settings. They need a track.Config.Directory.
type peopleElements struct {
	*visit
	shown []presence.Person // whom the page has asked for: see personOf
}

// errNoPeople is logged if a template shows people on a site without a Directory.
var errNoPeople = errors.New("templates: contacts, person, sessions and settings need a track.Config.Directory")

// hasPeople reports whether the site has a Directory. If not, it logs errNoPeople, and the caller
// leaves its element out of the page.
func (e *peopleElements) hasPeople() bool {
	if e.workshop.site.Directory != nil {
		return true
	}
	e.orNothing("", errNoPeople)
	return false
}

// personOf returns a user as the visitor may see the user. A page asks for each user once, so that
// all of its elements agree. While the Directory hangs or is out, the user is offline and it is
// unknown when the user was last seen.
func (e *peopleElements) personOf(id presence.UserID) presence.Person {
	for _, known := range e.shown {
		if known.ID == id {
			return known
		}
	}
	person := presence.Person{ID: id}
	_ = e.askPeople(func(ctx context.Context) error {
		people, err := e.workshop.source.Find(ctx, e.visitor.User.ID, id)
		if err == nil && len(people) == 1 {
			person = people[0]
		}
		return err
	})
	e.shown = append(e.shown, person)
	return person
}

// person renders what the visitor may know of a user: a dot, the status, and when the user
// was last seen.
func (e *peopleElements) person(id any) (template.HTML, error) {
	if e.closed() {
		return "", nil
	}
	user := e.idOf(id)
	if err := (presence.User{ID: user}).ValidateInside(); err != nil {
		return "", err
	}
	if !e.hasPeople() {
		return "", nil
	}
	ws, person := e.workshop, e.personOf(user)
	b := newMarkup(768)
	if !e.visitor.SignedIn() { // guests cannot follow people, so the script has nothing to do
		b.raw(`<span class="presence-profile"`).state(person).raw(">")
		return ws.note(b, person).raw("</span>").html(), nil
	}
	b.raw(`<presence-part class="presence-profile" src="`).text(ws.prefix).raw(`" data-people="person"`).raw(ws.words).state(person).raw(">")
	return e.element(ws.note(b, person).raw("</presence-part>").html()), nil
}

// state writes the attributes of an item that shows a person.
func (m *markup) state(p presence.Person) *markup {
	return m.raw(` data-person="`).text(string(p.ID.Local())).raw(`" data-status="`).text(statusOf(p)).raw(`"`)
}

// statusOf returns the status that the visitor sees, or "offline".
func statusOf(p presence.Person) string {
	if !p.Online {
		return "offline"
	}
	return shownStatus(presence.Member{User: presence.User{Status: p.Status}})
}

// note writes the dot of a person and the texts beside it. It writes empty elements too, because
// the script fills them later.
func (ws *workshop) note(b *markup, p presence.Person) *markup {
	texts, status := ws.cfg.Texts, statusOf(p)
	word := texts.Status.Offline
	if p.Online {
		word = texts.Status.of(status)
	} else {
		p.Text, p.On = "", nil
	}
	b.raw(`<span class="presence-dot" data-status="`).text(status).raw(`" aria-hidden="true"></span> <span class="presence-note"><span>`).text(word)
	b.raw(`</span> <span title="`).text(p.Text).raw(`"><bdi>`).text(p.Text).raw(`</bdi></span> <span>`).text(ws.device(p.On)).raw(`</span> `)
	if p.Online || p.LastSeen.IsZero() {
		return b.raw("<time></time></span>")
	}
	ago := ws.ago(time.Since(p.LastSeen))
	return b.time(p.LastSeen, strings.ReplaceAll(texts.People.LastSeen, "{ago}", ago)).raw("</span>")
}

// device returns the words for a person whose devices are all phones, or all tablets: that explains
// why an answer may be short. It returns "" for any other person.
func (ws *workshop) device(on []string) string {
	if len(on) == 1 {
		switch on[0] {
		case presence.Mobile:
			return ws.cfg.Texts.People.Phone
		case presence.Tablet:
			return ws.cfg.Texts.People.Tablet
		}
	}
	return ""
}
