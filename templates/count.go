package templates

import (
	"context"
	"fmt"
	"html/template"
	"reflect"
	"slices"
	"strconv"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A Count is what [Page.Total] and the template function onlineTotal return: a number of
// users, or [Unknown]. Templates compare it like any number, and Known tells the two apart:
//
//	{{if gt (onlineTotal "site") 9}}It is busy here.{{end}}
//	{{with $n := onlineTotal .Topic}}{{if $n.Known}}({{$n}} viewing){{end}}{{end}}
//
// In {{if}} and {{with}} only zero is false.
type Count int

// Unknown is the Count of a topic that is not in memory, while the store is slow or out.
// It is less than any number of users.
const Unknown Count = -1

// Known reports whether c is a number of users.
func (c Count) Known() bool { return c >= 0 }

// String returns the number in digits, or an en dash for [Unknown].
func (c Count) String() string {
	if !c.Known() {
		return "–"
	}
	return strconv.Itoa(int(c))
}

// onlineCount renders how many users are online in a topic. For topics that this page does
// not know it leaves markers. All their counts are asked for together at the end of the page,
// in one round trip, so a list of a hundred threads loads no roster.
func (p *Page) onlineCount(topic any) (template.HTML, error) {
	if p.closed() {
		return "", nil
	}
	parsed, err := p.topicOf(topic)
	if err != nil {
		return "", err
	}
	if p.markers != nil && !p.counted(parsed) {
		return p.element(p.widgets.countElement(parsed, p.markers.addCount(parsed))), nil
	}
	return p.element(p.widgets.countElement(parsed, p.widgets.counting(p.totalOf(parsed)))), nil
}

// counted reports whether the page knows how many users are online in a topic, or has to
// load its roster to know it.
func (p *Page) counted(topic presence.Topic) bool {
	_, prefetched := p.counts[topic]
	return prefetched || topic.Local() == p.widgets.cfg.Topic || p.knows(topic)
}

func (p *Page) knows(topic presence.Topic) bool {
	return slices.ContainsFunc(p.topics, func(t knownTopic) bool { return t.topic == topic })
}

func (p *Page) onlineTotal(topic any) (Count, error) {
	if p.closed() {
		return Unknown, nil
	}
	parsed, err := p.topicOf(topic)
	if err != nil {
		return Unknown, err
	}
	return p.totalOf(parsed), nil
}

func (p *Page) totalOf(topic presence.Topic) Count {
	if n, ok := p.counts[topic]; ok && !p.knows(topic) {
		return n
	}
	t := p.know(topic)
	if t.view == nil {
		return Unknown
	}
	return Count(t.total())
}

// prefetchCounts is a template function, which must return something.
func (p *Page) prefetchCountsOf(topics ...any) (string, error) { return "", p.prefetchCounts(topics) }

// prefetchCounts loads how many users are online in topics. The arguments are topics, or
// slices of topics.
func (p *Page) prefetchCounts(topics []any) error {
	all := make([]presence.Topic, 0, len(topics))
	for _, name := range flatten(topics) {
		topic, err := p.topicOf(name)
		if err != nil {
			return err
		}
		all = append(all, topic)
	}
	p.loadCounts(all)
	return nil
}

// loadCounts asks for the counts of topics that the page does not know, in one round trip. If
// there is no answer they are [Unknown].
func (p *Page) loadCounts(topics []presence.Topic) {
	missing := slices.Clone(topics)
	slices.Sort(missing)
	missing = slices.DeleteFunc(slices.Compact(missing), p.counted)
	if len(missing) == 0 {
		return
	}
	var got []backend.Counts
	err := p.ask(func(ctx context.Context) (err error) {
		got, err = p.widgets.tracker.Counts(ctx, missing...)
		return err
	})
	if p.counts == nil {
		p.counts = make(map[presence.Topic]Count, len(missing))
	}
	for i, topic := range missing {
		p.counts[topic] = Unknown
		if err == nil && !got[i].Unknown {
			p.counts[topic] = Count(got[i].Total)
		}
	}
}

// flatten returns the texts of values, and of the elements of those that are slices.
func flatten(values []any) []string {
	var all []string
	for _, value := range values {
		v := reflect.ValueOf(value)
		_, isText := value.(fmt.Stringer) // such as a UUID, which is an array of bytes
		if isText || v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
			all = append(all, fmt.Sprint(value))
			continue
		}
		for i := range v.Len() {
			all = append(all, fmt.Sprint(v.Index(i)))
		}
	}
	return all
}
