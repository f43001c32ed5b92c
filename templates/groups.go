package templates

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

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
	if _, ok := parseColor(g.Color); g.Color != "" && !ok {
		errs = append(errs, fmt.Errorf("templates: Config.Groups: the color %q of %q must be like #c0392b or #c03", g.Color, g.Name))
	}
	return errors.Join(errs...)
}

// groupStyle returns the rules of the style sheet for groups.
func groupStyle(groups []Group) string {
	var b strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&b, "\n[data-group=%q] {\n", g.Name)
		if c, ok := parseColor(g.Color); ok {
			fmt.Fprintf(&b, "  --group: light-dark(%s, %s);\n", c.until(darkened), c.until(lightened))
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

// A color has the values of red, green and blue in sRGB, from 0 to 1.
type color [3]float64

// parseColor reads "#rrggbb" or "#rgb".
func parseColor(s string) (c color, ok bool) {
	digits, ok := strings.CutPrefix(s, "#")
	if len(digits) == 3 {
		digits = string([]byte{digits[0], digits[0], digits[1], digits[1], digits[2], digits[2]})
	}
	n, err := strconv.ParseUint(digits, 16, 32)
	if !ok || err != nil || len(digits) != 6 {
		return c, false
	}
	for i := range c {
		c[i] = float64(n>>(16-8*i)&0xff) / 255
	}
	return c, true
}

func (c color) String() string {
	var b [3]int
	for i := range c {
		b[i] = int(math.Round(255 * c[i]))
	}
	return fmt.Sprintf("#%02x%02x%02x", b[0], b[1], b[2])
}

// luminance returns the relative luminance as WCAG 2 defines it:
// https://www.w3.org/TR/WCAG22/#dfn-relative-luminance.
func (c color) luminance() float64 {
	linear := func(v float64) float64 {
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c[0]) + 0.7152*linear(c[1]) + 0.0722*linear(c[2])
}

// contrast returns the contrast of two colours, from 1 to 21.
func (c color) contrast(d color) float64 {
	a, b := c.luminance(), d.luminance()
	return (max(a, b) + 0.05) / (min(a, b) + 0.05)
}

// Names are readable on all backgrounds from white to leastLight and from black to leastDark.
// These include the backgrounds of a user in the widget, also under the pointer.
var (
	leastLight = color{0xd8 / 255., 0xd8 / 255., 0xd8 / 255.}
	leastDark  = color{0x3c / 255., 0x3c / 255., 0x3c / 255.}
)

// minContrast is the contrast that WCAG 2 requires of text: https://www.w3.org/TR/WCAG22/#contrast-minimum.
const minContrast = 4.5

// darkened returns c scaled down by share, and whether that is readable on a light page.
func darkened(c color, share float64) (color, bool) {
	for i := range c {
		c[i] = math.Round(255*c[i]*(1-share)) / 255 // rounded, as String writes it
	}
	return c, c.contrast(leastLight) >= minContrast && c.luminance() < leastLight.luminance()
}

// lightened returns c mixed with white by share, and whether that is readable on a dark page.
func lightened(c color, share float64) (color, bool) {
	for i := range c {
		c[i] = math.Round(255*(c[i]+(1-c[i])*share)) / 255
	}
	return c, c.contrast(leastDark) >= minContrast && c.luminance() > leastDark.luminance()
}

// until changes a colour in steps of a hundredth, until it is readable.
func (c color) until(change func(color, float64) (color, bool)) color {
	for share := 0.; ; share += 0.01 {
		if changed, ok := change(c, share); ok || share >= 1 {
			return changed
		}
	}
}
