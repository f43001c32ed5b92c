package templates

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/internal/readable"
	"github.com/rollcall-go/rollcall/presence"
)

// A Group is a group of users whose names have a colour of their own, such as a site's staff.
type Group struct {
	// Name is the [presence.User].Group of its users: 1-32 of a-z 0-9 -.
	Name string

	// Title is the word in the legend, which screen readers also say after the name of
	// each user of the group. Default: Name.
	Title string

	// Color is the colour of the names, as "#c0392b" or "#c03". Visitors see it darkened on
	// a light page, or lightened on a dark one, until its contrast is 4.5 to 1. Default: the
	// colour of the text.
	Color string
}

func (g Group) title() string { return cmp.Or(g.Title, g.Name) }

// validate returns what is wrong with a group. before are the groups before it, whose names it
// may not have.
func (g Group) validate(before []Group) error {
	var errs []error
	if !presence.ValidGroup(g.Name) {
		errs = append(errs, fmt.Errorf("templates: Config.Groups: the name %q must be 1-%d of a-z 0-9 -", g.Name, presence.MaxGroupLen))
	}
	if slices.ContainsFunc(before, func(h Group) bool { return h.Name == g.Name }) {
		errs = append(errs, fmt.Errorf("templates: Config.Groups: there are two of the name %q", g.Name))
	}
	if _, ok := readable.Parse(g.Color); g.Color != "" && !ok {
		errs = append(errs, fmt.Errorf("templates: Config.Groups: the color %q of %q must be like #c0392b or #c03", g.Color, g.Name))
	}
	return errors.Join(errs...)
}

// groupStyle returns the rules of the style sheet for groups.
func groupStyle(groups []Group) string {
	var b strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&b, "\n[data-group=%q] {\n", g.Name)
		if c, ok := readable.Parse(g.Color); ok {
			fmt.Fprintf(&b, "  --group: light-dark(%s, %s);\n", c.OnLight(), c.OnDark())
		}
		fmt.Fprintf(&b, "}\n\n[data-group=%q] > :is(.presence-card, .presence-link) bdi::after {\n  content: \"\\200b\" / \", %s\";\n}\n", g.Name, cssText(g.title()))
	}
	return b.String()
}

// cssText returns a text as the content of a string in a style sheet.
func cssText(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r >= 0x80, 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == ' ':
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "\\%x ", r)
		}
	}
	return b.String()
}

// legend renders the groups of the site.
func (ws *workshop) legend() template.HTML {
	if len(ws.cfg.Groups) == 0 {
		return ""
	}
	b := newMarkup(64 * (1 + len(ws.cfg.Groups)))
	b.raw(`<ul class="presence-legend" role="list" aria-label="`).text(ws.cfg.Texts.Groups).raw(`">`)
	for _, g := range ws.cfg.Groups {
		b.raw(`<li data-group="`).text(g.Name).raw(`"><span>`).text(g.title()).raw(`</span></li>`)
	}
	return b.raw("</ul>").html()
}
