package templates

import (
	"cmp"
	"html/template"
	"maps"
	"slices"
)

// botsOf renders the names and numbers of bots, the highest number first: "Bots: Googlebot (2),
// Bingbot (1)". It returns "" if there are none.
func (ws *workshop) botsOf(bots map[string]int) template.HTML {
	if len(bots) == 0 {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(bots), func(a, b string) int {
		return cmp.Or(bots[b]-bots[a], cmp.Compare(a, b))
	})
	b := newMarkup(32 * len(names))
	for i, name := range names {
		if i > 0 {
			b.raw(", ")
		}
		b.raw("<span>").text(name).raw(" (").text(ws.locale.number(bots[name])).raw(")</span>")
	}
	return "<p>" + fillIn(ws.cfg.Texts.Bots, "{bots}", string(b.html())) + "</p>"
}
