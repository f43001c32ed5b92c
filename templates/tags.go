package templates

import (
	"bytes"
	"html/template"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// tags are the start tags of a page's first elements. One of them names the visitor.
type tags struct {
	first    []template.HTML // the first tag of each kind of element; outside a buffer, the page's first tag
	buffered bool            // the page is in a buffer until it is whole
	me       presence.UserID // the visitor's id, as the site knows it
}

// element returns an element that the script keeps live, from HTML that is the same for every
// visitor. The first element of a page names the visitor in an attribute. htmx and Turbo load pages
// without a new head, and then the script learns from this attribute that the visitor has signed in
// or out. In a page in a buffer the name is inserted at the end, so that a widget of 40 KB need not
// be copied.
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

// fillName names the visitor at the first element of the page. That element may be missing, because
// html/template has escaped it in an attribute or a script. Then fillName takes the first element
// of another kind, or else a later one of the same kind.
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

// opening returns the beginning that the start tags of all elements of one kind share.
func opening(tag template.HTML) template.HTML {
	for _, first := range [...]string{` data-presence-dot="`, ` data-presence-seen="`, ` topic="`} {
		if before, _, found := strings.Cut(string(tag), first); found {
			return template.HTML(before + first)
		}
	}
	return tag
}

// indexTag returns the position of a start tag in a page, or -1. It searches for the name first,
// because searching for a short text is fast.
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
