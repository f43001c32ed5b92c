package templates

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/rollcall-go/rollcall/presence"
)

// A form is how a widget looks.
type form string

const (
	list    form = "list"    // counts, and who it is by name
	compact form = "compact" // a row of pictures, and how many
)

func parseForm(s string) (form, error) {
	switch f := form(s); f {
	case list, compact:
		return f, nil
	}
	return "", fmt.Errorf("templates: there is no form %q; there are list and compact", s)
}

// compactMax is how many pictures stand in a row, unless the view says so.
const compactMax = 8

// options are what a view may say of one widget.
type options struct {
	max   int
	form  form
	label string
	more  string // where the rest is to be seen; empty: nowhere
}

// optionsFor returns how a topic is shown where the view says nothing.
func (k *kit) optionsFor(topic presence.Topic) options {
	o := options{max: k.cfg.Max, form: list, label: k.cfg.Texts.Label}
	if topic != k.cfg.Topic {
		o.label = k.cfg.Texts.Here
	}
	return o
}

// in returns the options for a form: a row is short unless a max is given too.
func (o options) in(f form) options {
	o.form = f
	if f == compact {
		o.max = min(o.max, compactMax)
	}
	return o
}

// with reads pairs of a name and a value, as a view's author wrote them.
func (o options) with(pairs []any) (options, error) {
	if len(pairs)%2 != 0 {
		return o, fmt.Errorf("templates: whosOnline wants its options in pairs, and has %d values", len(pairs))
	}
	most := -1
	for i := 0; i < len(pairs); i += 2 {
		switch name, value := pairs[i], pairs[i+1]; name {
		case "max":
			n, ok := value.(int)
			if !ok {
				return o, fmt.Errorf("templates: max is %v, and must be an int", value)
			}
			most = limitMax(n)
		case "form":
			f, err := parseForm(fmt.Sprint(value))
			if err != nil {
				return o, err
			}
			o = o.in(f)
		case "label":
			o.label = fmt.Sprint(value)
		case "more":
			o.more = link(fmt.Sprint(value))
		default:
			return o, fmt.Errorf("templates: whosOnline knows no option %v; it has max, form, label and more", name)
		}
	}
	if most >= 0 {
		o.max = most
	}
	return o, nil
}

// of reads the parameters of a request for the widget, and says what is wrong
// with them, if something is.
func (o options) of(query url.Values) (_ options, problem string) {
	if query.Has("form") {
		f, err := parseForm(query.Get("form"))
		if err != nil {
			return o, "The parameter form is list or compact."
		}
		o = o.in(f)
	}
	if query.Has("max") {
		n, err := strconv.Atoi(query.Get("max"))
		if err != nil {
			return o, "The parameter max is not a number."
		}
		o.max = limitMax(n)
	}
	return o, ""
}
