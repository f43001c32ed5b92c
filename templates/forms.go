package templates

import (
	"context"
	"html/template"

	"github.com/rollcall-go/rollcall/presence"
)

// fields returns the further fields of a form: those of the template, and else those of
// Config.Fields.
func (p *Page) fields(own template.HTML) template.HTML {
	if own != "" || p.widgets.cfg.Fields == nil {
		return own
	}
	return p.widgets.cfg.Fields(p.request)
}

// back writes the field that names the page to which the answer to a form leads, for browsers
// that do not say from where a form comes.
func (p *Page) back(b *markup) { b.field("back", p.request.RequestURI, "") }

// contact renders the buttons with which the visitor lists or blocks a user. There are none for
// guests and for the visitor, and none while it is not known what the user is to the visitor.
func (p *Page) contact(id any) (template.HTML, error) {
	user := p.idOf(id)
	if err := (presence.User{ID: user}).ValidateInside(); err != nil {
		return "", err
	}
	if !p.hasPeople() || !p.visitor.SignedIn() || user == p.visitor.User.ID {
		return "", nil
	}
	var is []presence.Relation
	err := p.askOwn(func(ctx context.Context) (err error) {
		is, err = p.widgets.site.Directory.Relations(ctx, presence.Pair{User: p.visitor.User.ID, Viewer: user})
		return err
	})
	if err != nil || len(is) != 1 {
		return "", nil
	}
	texts := p.widgets.cfg.Texts.People
	b := newMarkup(512)
	b.raw(`<form class="presence presence-contact not-prose" method="post" action="`).text(p.widgets.cfg.ContactsURL).raw(`">`).raw(p.fields(""))
	p.back(b)
	b.field("me", string(p.visitor.User.ID.Local()), "").field("user", string(user.Local()), "")
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
