package templates

import (
	"fmt"
	"html/template"
	"math"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A form is how a widget looks.
type form string

const (
	list    form = "list"    // counts, and users by name
	compact form = "compact" // a row of pictures, and a count
)

func parseForm(s string) (form, error) {
	switch f := form(s); f {
	case list, compact:
		return f, nil
	}
	return "", fmt.Errorf("there is no form %q; there are list and compact", s)
}

// maxPictures is how many pictures a row has, unless the template gives a number.
const maxPictures = 8

// options are the options of one widget.
type options struct {
	max   int
	form  form
	label string
	more  string // the address of the whole list; empty: none
	about bool   // show beside each name where the user is, and since when

	figures figureSet // the figures that are shown
}

// A figureSet is a set of the widget's figures, as bits.
type figureSet uint8

// figureNames are the figures of a widget, in their order.
var figureNames = [...]string{"online", "guests", "recent"}

const allFigures figureSet = 1<<len(figureNames) - 1

// parseFigures reads names of figures, with spaces or commas between.
func parseFigures(s string) (set figureSet, err error) {
	for name := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ' ' || r == ',' }) {
		i := slices.Index(figureNames[:], name)
		if i < 0 {
			return 0, fmt.Errorf("there is no figure %q; there are online, guests and recent", name)
		}
		set |= 1 << i
	}
	return set, nil
}

// has reports whether the i-th of figureNames is shown.
func (s figureSet) has(i int) bool { return s>>i&1 == 1 }

// optionsFor returns the default options of a topic's widget.
func (ws *workshop) optionsFor(topic presence.Topic) options {
	o := options{max: ws.cfg.Max, form: list, label: ws.cfg.Texts.Label, figures: allFigures}
	if topic.Local() != ws.cfg.Topic {
		o.label = ws.cfg.Texts.Here
	}
	return o
}

// allowed returns o as the topic allows it: a count-only topic has no names.
func (ws *workshop) allowed(topic presence.Topic, o options) options {
	if ws.site.Kind(topic).CountOnly {
		o.max, o.about = 0, false
	}
	return o
}

// in returns o for a form. A compact row shows at most maxPictures users, unless the template gives a
// max too.
func (o options) in(f form) options {
	o.form = f
	if f == compact {
		o.max = min(o.max, maxPictures)
	}
	return o
}

// with returns o with the options that a template gives.
func (o options) with(pairs []any) (options, error) {
	users := -1
	err := eachOption("whosOnline", pairs, []string{"max", "form", "label", "more", "about", "figures"}, func(name string, value any) (err error) {
		switch name {
		case "max":
			users, err = wholeUsers(value)
		case "form":
			var f form
			f, err = parseForm(fmt.Sprint(value))
			o = o.in(f)
		case "label":
			o.label = fmt.Sprint(value)
		case "more":
			o.more = link(fmt.Sprint(value))
		case "about":
			o.about = value == true
		case "figures":
			o.figures, err = parseFigures(fmt.Sprint(value))
		}
		return err
	})
	if users >= 0 {
		o.max = users
	}
	return o, err
}

// elementOptions are the options of all elements but the widget. Each of them has some.
type elementOptions struct {
	max      int           // how many users or items are shown
	within   time.Duration // of recentlyActive: as in backend.RecentQuery
	label    string        // the name of the element, for screen readers
	fields   template.HTML // further fields of each form, such as a CSRF token
	error    string        // what was wrong with the form
	mute     bool          // of notifications: each item has a button that mutes the item's About, or else its type
	popover  bool          // of the bell: the script opens the list in place
	word     bool          // of the bell: its name stands beside the icon
	list     string        // of a room: the id of the element that has its items
	about    *string       // of a room: the feed.Item.About of its notifications; nil: the room's name
	template string        // of a room: the id of the template of an item
	input    string        // of typing: a selector of the form or field in which the visitor types
	revision int64         // of editors: the version that the page shows; 0: not known
	saved    template.HTML // of editors: what to do when a newer version was saved
}

// with returns o with the options that a template gives. names are the options that the function has.
func (o elementOptions) with(function string, pairs []any, names ...string) (elementOptions, error) {
	err := eachOption(function, pairs, names, func(name string, value any) (err error) {
		switch name {
		case "max":
			o.max, err = wholeUsers(value)
		case "within":
			o.within, err = parseWithin(fmt.Sprint(value))
		case "label":
			o.label = fmt.Sprint(value)
		case "fields":
			o.fields, err = as[template.HTML](value)
		case "error":
			if value != nil {
				o.error = fmt.Sprint(value)
			}
		case "mute":
			o.mute, err = as[bool](value)
		case "popover":
			o.popover, err = as[bool](value)
		case "word":
			o.word, err = as[bool](value)
		case "list":
			o.list, err = as[string](value)
		case "about":
			about := fmt.Sprint(value)
			o.about = &about
		case "template":
			o.template, err = as[string](value)
		case "input":
			o.input = fmt.Sprint(value)
		case "revision":
			o.revision, err = whole(value)
		case "saved":
			o.saved, err = as[template.HTML](value)
		}
		return err
	})
	return o, err
}

// eachOption calls set for each option that a template gives to a function, as pairs of a name and a value. names are the options
// that the function has.
func eachOption(function string, pairs []any, names []string, set func(name string, value any) error) error {
	if len(pairs)%2 != 0 {
		return fmt.Errorf("templates: %s wants its options in pairs, and has %d values", function, len(pairs))
	}
	for i := 0; i < len(pairs); i += 2 {
		name := fmt.Sprint(pairs[i])
		if !slices.Contains(names, name) {
			return fmt.Errorf("templates: %s knows no option %v; it has %v", function, name, names)
		}
		if err := set(name, pairs[i+1]); err != nil {
			return fmt.Errorf("templates: the option %q of %s: %w", name, function, err)
		}
	}
	return nil
}

// whole returns an option that is an integer of any type.
func whole(value any) (int64, error) {
	switch v := reflect.ValueOf(value); {
	case v.CanInt():
		return v.Int(), nil
	case v.CanUint():
		return int64(min(v.Uint(), math.MaxInt64)), nil
	}
	return 0, unlike(value, "an integer")
}

// wholeUsers returns an option that is a number of users.
func wholeUsers(value any) (int, error) {
	n, err := whole(value)
	return int(min(max(n, 0), maxUsers)), err
}

// as returns an option that has the type T.
func as[T any](value any) (T, error) {
	v, ok := value.(T)
	if !ok {
		return v, unlike(value, fmt.Sprintf("a %T", v))
	}
	return v, nil
}

func unlike(value any, want string) error {
	return fmt.Errorf("%v is a %T, and must be %s", value, value, want)
}

// of returns o with the parameters of a request for the widget. problem tells the visitor what is
// wrong with the parameters; empty: nothing is.
func (o options) of(query url.Values) (_ options, problem string) {
	if query.Has("form") {
		f, err := parseForm(query.Get("form"))
		if err != nil {
			return o, "The parameter form is list or compact."
		}
		o = o.in(f)
	}
	if query.Has("figures") {
		figures, err := parseFigures(query.Get("figures"))
		if err != nil {
			return o, "The parameter figures is some of online, guests and recent, with commas between."
		}
		o.figures = figures
	}
	if query.Has("max") {
		n, err := strconv.Atoi(query.Get("max"))
		if err != nil {
			return o, "The parameter max is not a number."
		}
		o.max = clampUsers(n)
	}
	return o, ""
}
