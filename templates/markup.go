package templates

import (
	"html/template"
	"strconv"
	"strings"
)

// markup builds HTML by concatenation. Parts of pages are not templates of html/template,
// because each page view renders them anew.
type markup struct{ b strings.Builder }

func newMarkup(size int) *markup {
	m := new(markup)
	m.b.Grow(size)
	return m
}

// raw appends HTML.
func (m *markup) raw(html template.HTML) *markup {
	m.b.WriteString(string(html))
	return m
}

// text appends a text, escaped for HTML and for attributes in quotes.
func (m *markup) text(s string) *markup {
	if strings.ContainsAny(s, "&<>\"'\x00") {
		s = template.HTMLEscapeString(s)
	}
	m.b.WriteString(s)
	return m
}

func (m *markup) int(n int) *markup {
	m.b.WriteString(strconv.Itoa(n))
	return m
}

func (m *markup) html() template.HTML { return template.HTML(m.b.String()) }

// fillIn returns a text of Config.Texts as HTML, with HTML in place of the names in braces.
// Each pair is a name, such as "{n}", and its HTML.
func fillIn(text string, pairs ...string) template.HTML {
	return template.HTML(strings.NewReplacer(pairs...).Replace(template.HTMLEscapeString(text)))
}
