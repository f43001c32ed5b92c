package templates

import (
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// mostEditors is how many editors are shown by name.
const mostEditors = 10

// editors renders the other users who edit the same thing. They are the roster of a topic, without
// the visitor: pages follow the topic while they edit. The user who came first is first.
func (e *rosterElements) editors(topic any, options ...any) (template.HTML, error) {
	if e.closed() {
		return "", nil
	}
	ws := e.workshop
	texts := ws.cfg.Texts.Signals
	o, err := elementOptions{label: texts.Editors}.with("editors", options, "label", "revision", "saved")
	if err != nil {
		return "", err
	}
	parsed, err := e.rosterTopic(topic)
	if err != nil {
		return "", err
	}
	t := e.know(parsed)
	known := t.view != nil && !t.view.Stale
	others, owner := e.othersIn(t)
	b := newMarkup(1536 + 256*len(others))
	ws.feedElement(b, "presence-editors", parsed, "editors", ws.signalParts.editors).raw(` data-live="off" data-editors="`)
	if known {
		b.int(len(others))
	} else {
		b.raw("unknown")
	}
	b.raw(`"`)
	if o.revision > 0 {
		b.raw(` data-revision="`).text(strconv.FormatInt(o.revision, 10)).raw(`"`)
	}
	b.raw(`><section class="presence not-prose" aria-label="`).text(o.label).raw(`"><ul class="presence-editing" role="list">`)
	for i, m := range others {
		if i == mostEditors {
			break
		}
		ws.editor(b, m, m.ID == owner)
	}
	rest := max(len(others)-mostEditors, 0)
	b.raw(`</ul><p class="presence-more"`).chosen(" hidden", rest == 0).raw(">").text(ws.locale.text(ws.cfg.Texts.More, rest))
	// Only the script shows this text. Without script the page would still say it after somebody came.
	b.raw(`</p><p class="presence-nobody" hidden>`).text(texts.NoEditors)
	b.raw(`</p><p class="presence-unknown"`).chosen(" hidden", known).raw(">").text(texts.NotKnown)
	b.raw(`</p><div class="presence-saved" role="alert"><div hidden><p class="presence-newer"></p>`)
	if o.saved != "" {
		b.raw(o.saved)
	} else {
		b.raw("<p>").text(texts.Next).raw(` <a href="">`).text(texts.Reload).raw("</a></p>")
	}
	return e.element(b.raw(`</div></div><p class="presence-said" role="status"></p></section></presence-part>`).html()), nil
}

// othersIn returns the members of a topic except the visitor, in the order in which they came.
// owner is the member who came first of all, who may be the visitor.
func (e *rosterElements) othersIn(t knownTopic) (others []presence.Member, owner presence.UserID) {
	if t.view == nil {
		return nil, ""
	}
	all := t.view.Newest(maxUsers)
	slices.SortFunc(all, func(a, b presence.Member) int {
		if c := a.Since.Compare(b.Since); c != 0 {
			return c
		}
		return strings.Compare(string(a.ID), string(b.ID))
	})
	if len(all) > 0 {
		owner = all[0].ID
	}
	return slices.DeleteFunc(all, func(m presence.Member) bool { return m.ID == e.visitor.User.ID }), owner
}

// editor writes the list item of an editor.
func (ws *workshop) editor(b *markup, m presence.Member, owner bool) {
	status := shownStatus(m)
	b.raw(`<li data-editor="`).text(string(m.ID.Local())).raw(`" data-status="`).text(status).raw(`"`)
	if owner {
		b.raw(` data-owner`)
	}
	at := newMarkup(128).time(m.Since, ws.clock(m.Since)).html()
	b.raw(`><span class="presence-dot" data-status="`).text(status).raw(`" aria-hidden="true"></span> <span>`)
	b.raw(fillIn(ws.cfg.Texts.Signals.Editing, "{name}", isolated(m.DisplayName()), "{time}", string(at))).raw(`</span> <span class="presence-away">`)
	if status == string(presence.Away) {
		b.text(ws.cfg.Texts.Status.Away)
	}
	b.raw("</span></li>")
}
