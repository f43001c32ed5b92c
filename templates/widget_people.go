package templates

import (
	"html/template"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// listSizes are the sizes of the lists of items that are kept for a View. A widget shows the beginning of one, so
// all widgets of a topic share few lists, whatever max a request names.
var listSizes = [...]int{10, 30, 100, 300, maxUsers}

// A peopleList has the items of the newest users of a View.
type peopleList struct {
	members []presence.Member
	items   string
	ends    []int // where each item ends in items
}

// first returns the items of the first n users.
func (l *peopleList) first(n int) template.HTML {
	if l == nil || len(l.ends) == 0 || n == 0 {
		return ""
	}
	n = min(n, len(l.ends))
	return template.HTML(l.items[:l.ends[n-1]])
}

// item returns the item of a user who looks the same in the list. at is where to look for the user: of the users
// whom item is called for, each one is behind the one before in the order of rosters.
func (l *peopleList) item(m presence.Member, at *int) (item string, ok bool) {
	if l == nil {
		return "", false
	}
	for *at < len(l.members) && presence.NewestFirst(l.members[*at], m) < 0 {
		*at++
	}
	if *at == len(l.members) || l.members[*at].ID != m.ID || !l.members[*at].Since.Equal(m.Since) || !l.members[*at].LooksLike(m) {
		return "", false
	}
	begin := 0
	if *at > 0 {
		begin = l.ends[*at-1]
	}
	return l.items[begin:l.ends[*at]], true
}

// newest returns the items of the newest n members of a View. Only the items of users who have come or changed
// since the topic's list before are rendered, and once for all pages that ask meanwhile.
func (ws *workshop) newest(v *track.View, n int) (template.HTML, error) {
	size := maxUsers
	for i := len(listSizes) - 1; i >= 0 && listSizes[i] >= n; i-- {
		size = listSizes[i]
		if l, ok := ws.lists.Get(v, size); ok {
			return l.first(n), nil
		}
	}
	before := ws.lists.Latest(v.Topic, size)
	l, err := ws.lists.Make(v, size, func() (*peopleList, int, error) { return ws.newList(before, v.Newest(size)) })
	return l.first(n), err
}

// newList returns the list of members, and its size for the cache. before is a list of some of them, or nil.
func (ws *workshop) newList(before *peopleList, members []presence.Member) (l *peopleList, size int, err error) {
	l = &peopleList{members: members}
	at := 0
	var items strings.Builder
	for _, m := range l.members {
		item, ok := before.item(m, &at)
		if !ok {
			html, err := ws.render("people", []person{newPerson(m, ws.cfg.Texts.Status)})
			if err != nil {
				return nil, 0, err
			}
			item = string(html)
		}
		items.WriteString(item)
		l.ends = append(l.ends, items.Len())
	}
	l.items = items.String()
	return l, len(l.items) + len(l.members)*memberSize, nil
}

// memberSize is about how many bytes a Member takes.
const memberSize = 400
