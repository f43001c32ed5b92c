package templates

import (
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/internal/authz"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A fragment says what a <presence-part> shows. The page is rendered with the content, and
// the script asks for new content once a minute.
type fragment struct {
	part   string // one of fragmentParts
	topic  presence.Topic
	within time.Duration // of "recent": as in backend.RecentQuery
	max    int           // of "recent" and "about": users; of "where": places
}

// fragmentParts has the function that renders the content of a part, by the name of the part.
var fragmentParts = map[string]func(*partElements, fragment) (template.HTML, error){
	"recent": (*partElements).recent,
	"peak":   (*partElements).peak,
	"bots":   (*partElements).bots,
	"where":  (*partElements).places,
	"about":  (*partElements).abouts,
}

// maxNames is how many names or places a part shows, unless the template gives a number.
const maxNames = 50

// withins has the words for fragment.within. The endpoint for recent users takes the same words.
var withins = map[string]time.Duration{"age": 0, "24h": backend.MaxWithin}

func parseWithin(s string) (time.Duration, error) {
	within, ok := withins[s]
	if !ok {
		return 0, fmt.Errorf("within is %q, and must be age or 24h", s)
	}
	return within, nil
}

// with returns f with the options that a template gives. names are the options that the function has.
func (f fragment) with(function string, pairs []any, names ...string) (fragment, error) {
	o, err := elementOptions{max: f.max, within: f.within}.with(function, pairs, names...)
	f.max, f.within = o.max, o.within
	return f, err
}

// src returns the address from which the script loads the content of the part.
func (f fragment) src(prefix string) string {
	query := url.Values{"part": {f.part}, "topic": {string(f.topic.Local())}}
	if f.max > 0 {
		query.Set("max", strconv.Itoa(f.max))
	}
	if f.within > 0 {
		query.Set("within", "24h")
	}
	return prefix + "/widget?" + query.Encode()
}

// parseFragment returns the fragment that a request asks for. problem tells the visitor what is
// wrong with the parameters; empty: nothing is.
func parseFragment(topic presence.Topic, query url.Values) (f fragment, problem string) {
	f = fragment{part: query.Get("part"), topic: topic, max: maxNames}
	if fragmentParts[f.part] == nil {
		return f, "The parameter part is recent, peak, bots, where or about."
	}
	if query.Has("max") {
		n, err := strconv.Atoi(query.Get("max"))
		if err != nil {
			return f, "The parameter max is not a number."
		}
		f.max = clampUsers(n)
	}
	if query.Has("within") {
		within, err := parseWithin(query.Get("within"))
		if err != nil {
			return f, "The parameter within is age or 24h."
		}
		f.within = within
	}
	return f, ""
}

// partElements render parts whose content changes slowly. The script asks for it once a minute.
type partElements struct {
	*visit
	placed map[presence.Topic]place // topics that the page has asked the site about
	rights *authz.Asker             // asks it; nil: not yet
}

// part renders the element of a fragment.
func (e *partElements) part(f fragment) (template.HTML, error) {
	if e.closed() {
		return "", nil
	}
	content, err := fragmentParts[f.part](e, f)
	if err != nil {
		return "", err
	}
	return e.workshop.partElement(f, content), nil
}

func (ws *workshop) partElement(f fragment, content template.HTML) template.HTML {
	b := newMarkup(160 + len(content))
	b.raw(`<presence-part class="presence-part presence-`).text(f.part).raw(`" src="`).text(f.src(ws.prefix)).raw(`">`)
	return b.raw(content).raw("</presence-part>").html()
}

// named writes the name of a user, with a link to the user's page if there is one.
func (m *markup) named(u presence.User) *markup {
	tag := template.HTML("span")
	if url := link(u.URL); url != "" {
		tag = "a"
		m.raw(`<a class="presence-link" href="`).text(url).raw(`">`)
	} else {
		m.raw(`<span class="presence-link">`)
	}
	return m.raw("<bdi>").text(u.DisplayName()).raw("</bdi></" + tag + ">")
}

// group writes the attribute for a user's group.
func (m *markup) group(u presence.User) *markup {
	if u.Group != "" {
		m.raw(` data-group="`).text(u.Group).raw(`"`)
	}
	return m
}

// time writes an element for a time, with the text for it.
func (m *markup) time(at time.Time, text string) *markup {
	at = at.UTC()
	return m.raw(`<time datetime="`).text(at.Format(time.RFC3339)).raw(`" title="`).text(at.Format("2006-01-02 15:04 UTC")).raw(`">`).text(text).raw("</time>")
}

// rest writes that n more are not shown, if n is not 0.
func (ws *workshop) rest(m *markup, n int) {
	if n > 0 {
		m.raw(`<p class="presence-more">`).text(ws.locale.text(ws.cfg.Texts.More, n)).raw("</p>")
	}
}
