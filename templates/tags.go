package templates

import (
	"bytes"
	"html/template"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// tags are the start tags of a page's first elements. One of them names the visitor.
type tags struct {
	first    []template.HTML // the first of each kind; outside a buffer, the first of all
	buffered bool            // the page is in a buffer until it is whole
	me       presence.UserID // of the visitor, as the site knows it
}

// element returns an element of the script, from HTML that is the same for every visitor.
// The first element of a page names the visitor: the script learns from it that somebody
// has signed in, or out, where pages come without a new head. A page in a buffer gets the
// name at its end, so that a widget of 40 KB is not copied for it.
func (t *tags) element(html template.HTML) template.HTML {
	kind := html[:strings.IndexByte(string(html), ' ')+1]
	for _, tag := range t.first {
		if !t.buffered || strings.HasPrefix(string(tag), string(kind)) {
			return html
		}
	}
	at := startTagEnd(html)
	t.first = append(t.first, html[:at+1])
	if t.buffered {
		return html
	}
	return html[:at] + t.name() + html[at:]
}

// name returns the attribute that names the visitor.
func (t *tags) name() template.HTML {
	return ` me="` + escaped(string(t.me)) + `"`
}

// fillName names the visitor at the first element of the page. An element may be missing,
// because html/template has escaped it in an attribute or a script; then it is the first of
// another kind, or else a later one of the same kind.
func (t *tags) fillName(out *bytes.Buffer) {
	for _, tag := range t.first {
		if at := indexTag(out.Bytes(), []byte(tag)); at >= 0 {
			t.insertName(out, at+len(tag)-len(">"))
			return
		}
	}
	for _, tag := range t.first {
		at := indexTag(out.Bytes(), []byte(opening(tag)))
		if at < 0 {
			continue
		}
		if end := bytes.IndexByte(out.Bytes()[at:], '>'); end >= 0 {
			t.insertName(out, at+end)
			return
		}
	}
}

func (t *tags) insertName(out *bytes.Buffer, at int) {
	name := t.name()
	out.WriteString(string(name)) // makes room
	page := out.Bytes()
	copy(page[at+len(name):], page[at:])
	copy(page[at:], name)
}

// opening returns what the start tags of all elements of a kind begin with.
func opening(tag template.HTML) template.HTML {
	for _, first := range [...]string{` data-presence-dot="`, ` data-presence-seen="`, ` topic="`} {
		if before, _, found := strings.Cut(string(tag), first); found {
			return template.HTML(before + first)
		}
	}
	return tag
}

// indexTag returns where a start tag is in a page, or -1. It looks for the name first: a
// short text is found fast.
func indexTag(page, tag []byte) int {
	name := tag[:bytes.IndexByte(tag, ' ')+1]
	for at := 0; ; at += len(name) {
		i := bytes.Index(page[at:], name)
		if i < 0 {
			return -1
		}
		at += i
		if bytes.HasPrefix(page[at:], tag) {
			return at
		}
	}
}
