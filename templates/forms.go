package templates

import (
	"context"
	"html/template"

	"github.com/rollcall-go/rollcall/presence"
)

// fields returns the further fields of a form: own, if the template gives any, or else those of
// Config.Fields.
func (v *visit) fields(own template.HTML) template.HTML {
	if own != "" || v.workshop.cfg.Fields == nil {
		return own
	}
	return v.workshop.cfg.Fields(v.request)
}

// back writes a field with the page's address. The answer to the form leads back there, even if
// the browser sends no Referer.
func (v *visit) back(b *markup) *markup { return v.whose(b.field("back", v.request.RequestURI, "")) }

// whose writes a field that says whose a form is. Each form has it, for the case that Bob signs in while a page of Alice is
// still open: the site refuses Alice's form, which would change what is Bob's.
func (v *visit) whose(b *markup) *markup { return b.field("me", string(v.visitor.User.ID.Local()), "") }

// contact renders the buttons with which the visitor adds a user to the contacts, or blocks the
// user. It renders nothing for guests, for the visitor's own id, and while the relation of the two
// is not known.
func (e *peopleElements) contact(id any) (template.HTML, error) {
	user := e.idOf(id)
	if err := (presence.User{ID: user}).ValidateInside(); err != nil {
		return "", err
	}
	if !e.hasPeople() || !e.visitor.SignedIn() || user == e.visitor.User.ID {
		return "", nil
	}
	var is []presence.Relation
	err := e.askOwn(func(ctx context.Context) (err error) {
		is, err = e.workshop.site.Directory.Relations(ctx, presence.Pair{User: e.visitor.User.ID, Viewer: user})
		return err
	})
	if err != nil || len(is) != 1 {
		return "", nil
	}
	texts := e.workshop.cfg.Texts.People
	b := newMarkup(512)
	b.raw(`<form class="presence presence-contact not-prose" method="post" action="`).text(e.workshop.cfg.ContactsURL).raw(`">`).raw(e.fields(""))
	e.back(b).field("user", string(user.Local()), "")
	button := func(do template.HTML, text string) {
		b.raw(`<button name="do" value="`).raw(do).raw(`">`).text(text).raw("</button> ")
	}
	switch is[0] {
	case presence.Blocked:
		button("unblock", texts.Unblock)
	case presence.Contact:
		button("remove", texts.RemoveContact)
		button("block", texts.Block)
	default:
		button("add", texts.AddContact)
		button("block", texts.Block)
	}
	return b.raw("</form>").html(), nil
}
