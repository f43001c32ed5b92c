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
// users, or [Unknown]. Templates compare it like any number. Known reports which of the two it is:
//
//	{{if gt (onlineTotal "site") 9}}It is busy here.{{end}}
//	{{with $n := onlineTotal .Topic}}{{if $n.Known}}({{$n}} viewing){{end}}{{end}}
//
// In {{if}} and {{with}} only zero is false, so [Unknown] is true.
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

// onlineCount renders how many users are online in a topic. It leaves a marker if the page does
// not know the count. At the end of the page one round trip gets the counts for all markers. So
// a list of a hundred threads loads no roster.
func (e *markedElements) onlineCount(topic any) (template.HTML, error) {
	if e.closed() {
		return "", nil
	}
	parsed, err := e.topicOf(topic)
	if err != nil {
		return "", err
	}
	if e.markers != nil && !e.counted(parsed) {
		return e.element(e.workshop.countElement(parsed, e.markers.addCount(parsed))), nil
	}
	return e.element(e.workshop.countElement(parsed, e.workshop.counting(e.totalOf(parsed)))), nil
}

// counted reports whether a topic's count needs no marker: the count was prefetched, or the page
// has the topic's roster, or the topic is the site's own.
func (e *markedElements) counted(topic presence.Topic) bool {
	_, prefetched := e.counts[topic]
	return prefetched || topic.Local() == e.workshop.cfg.Topic || e.knows(topic)
}

func (e *markedElements) knows(topic presence.Topic) bool {
	return slices.ContainsFunc(e.topics, func(t knownTopic) bool { return t.topic == topic })
}

func (e *markedElements) onlineTotal(topic any) (Count, error) {
	if e.closed() {
		return Unknown, nil
	}
	parsed, err := e.topicOf(topic)
	if err != nil {
		return Unknown, err
	}
	return e.totalOf(parsed), nil
}

func (e *markedElements) totalOf(topic presence.Topic) Count {
	if n, ok := e.counts[topic]; ok && !e.knows(topic) {
		return n
	}
	t := e.know(topic)
	if t.view == nil {
		return Unknown
	}
	return Count(t.total())
}

// prefetchCountsOf is prefetchCounts as a template function, which must return a value.
func (e *markedElements) prefetchCountsOf(topics ...any) (string, error) {
	return "", e.prefetchCounts(topics)
}

// prefetchCounts loads how many users are online in topics. Each argument is a topic or a slice
// of topics.
func (e *markedElements) prefetchCounts(topics []any) error {
	all := make([]presence.Topic, 0, len(topics))
	for _, name := range flatten(topics) {
		topic, err := e.topicOf(name)
		if err != nil {
			return err
		}
		all = append(all, topic)
	}
	e.loadCounts(all)
	return nil
}

// loadCounts asks for the counts that the page does not know, in one round trip. Without an
// answer they are [Unknown].
func (e *markedElements) loadCounts(topics []presence.Topic) {
	missing := slices.Clone(topics)
	slices.Sort(missing)
	missing = slices.DeleteFunc(slices.Compact(missing), e.counted)
	if len(missing) == 0 {
		return
	}
	var got []backend.Counts
	err := e.ask(func(ctx context.Context) (err error) {
		got, err = e.workshop.tracker.Counts(ctx, missing...)
		return err
	})
	if e.counts == nil {
		e.counts = make(map[presence.Topic]Count, len(missing))
	}
	for i, topic := range missing {
		e.counts[topic] = Unknown
		if err == nil && !got[i].Unknown {
			e.counts[topic] = Count(got[i].Total)
		}
	}
}

// flatten returns values as texts. A slice or an array gives one text for each of its elements.
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
