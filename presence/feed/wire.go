package feed

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A wireFeed is the JSON of a feed in events and answers: a state also has more, and a diff has prev. Its
// names do not contain the tenant. Only inboxes have counters.
type wireFeed struct {
	Topic  presence.Topic  `json:"topic"`
	Cursor presence.Cursor `json:"cursor"`
	Prev   presence.Cursor `json:"prev,omitempty"`
	Unread *int            `json:"unread,omitempty"`
	Unseen *int            `json:"unseen,omitempty"`
	Items  []wireItem      `json:"items,omitempty"`
	More   *bool           `json:"more,omitempty"`
	Stale  bool            `json:"stale,omitempty"`
}

// A wireItem is the JSON of an item. Actors are all of them if there are one or two, else only the latest
// one.
type wireItem struct {
	ID     string            `json:"id"`
	Pos    int64             `json:"pos"`
	Type   string            `json:"type"`
	V      int               `json:"v"`
	At     string            `json:"at"`
	Actors []presence.UserID `json:"actors,omitempty"`
	Names  []string          `json:"names,omitempty"` // the names of Actors, in their order
	Others int               `json:"others,omitempty"`
	N      int               `json:"n"`
	About  string            `json:"about,omitempty"`
	Text   string            `json:"text"`
	URL    string            `json:"url,omitempty"`
	Data   json.RawMessage   `json:"data,omitempty"`
	State  string            `json:"state,omitempty"`

	// Only in answers about inboxes, and not in streams.
	SeenAt string `json:"seen_at,omitempty"`
	ReadAt string `json:"read_at,omitempty"`
}

// timeLayout is that of other events.
const timeLayout = "2006-01-02T15:04:05.000Z"

// shownActors returns the actors to name, and the number of the others: one or two are named, and of more
// only the latest one.
func shownActors(i Item) (named []Actor, others int) {
	switch total := len(i.Actors) + i.Others; {
	case total == len(i.Actors) && total <= 2:
		return i.Actors, 0
	case len(i.Actors) == 0:
		return nil, i.Others
	default:
		return i.Actors[:1], total - 1
	}
}

// text returns the text of an item in an inbox, with the names of the actors. The text of a room's item is
// what a user wrote, and stays as it is.
func (c *Config) text(i Item) string {
	named, others := shownActors(i)
	names := make([]string, len(named))
	for j, a := range named {
		names[j] = a.Name
	}
	return withActors(i.Text, c.Actors(names, others))
}

func (c *Config) wireItem(n Name, i Item) wireItem {
	if i.State == Removed { // removed content never leaves the database
		i = Item{ID: i.ID, Pos: i.Pos, Type: i.Type, V: i.V, At: i.At, Count: i.Count, State: Removed}
	}
	w := wireItem{
		ID: i.ID, Pos: i.Pos, Type: i.Type, V: i.V, At: wireTime(i.At), N: i.Count,
		About: i.About, Text: i.Text, URL: i.URL, Data: i.Data,
	}
	named, others := shownActors(i)
	for _, a := range named {
		w.Actors, w.Names = append(w.Actors, cmp.Or(a.ID.Local(), somebodyID)), append(w.Names, a.Name)
	}
	w.Others = others
	if n.owner() != "" {
		w.Text = c.text(i)
	}
	if n.owner() != "" || i.State == Removed {
		w.State = i.State.String()
	}
	return w
}

// wire returns the JSON of a feed at a head, without items.
func wire(n Name, h Head, known bool) wireFeed {
	w := wireFeed{Topic: n.localTopic(), Cursor: cursorOf(n, h, known)}
	if n.owner() != "" && known {
		w.Unread, w.Unseen = &h.Unread, &h.Unseen
	}
	return w
}

// encodePage returns the data of a state, with the times of its items or without.
func (c *Config) encodePage(n Name, p Page, times bool) []byte {
	w := wire(n, p.Head, true)
	w.More = &p.More
	return encode(w, c.wireItems(n, p.Items, times))
}

// encodeChanges returns the data of a diff that leads from a cursor to a head.
func (c *Config) encodeChanges(n Name, prev presence.Cursor, h Head, items []Item, times bool) []byte {
	w := wire(n, h, true)
	w.Prev = prev
	return encode(w, c.wireItems(n, items, times))
}

func (c *Config) wireItems(n Name, items []Item, times bool) []wireItem {
	all := make([]wireItem, len(items))
	for i, item := range items {
		all[i] = c.wireItem(n, item)
		if times && n.owner() != "" {
			all[i].SeenAt, all[i].ReadAt = wireTime(item.SeenAt), wireTime(item.ReadAt)
		}
	}
	return all
}

// wireTime returns a time as events have it; empty: no time.
func wireTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeLayout)
}

// encode returns JSON that always has items.
func encode(w wireFeed, items []wireItem) []byte {
	w.Items = nil
	b, err := json.Marshal(struct {
		wireFeed
		Items []wireItem `json:"items"`
	}{w, items})
	if err != nil {
		return []byte("{}") // Data was validated when it was stored
	}
	return b
}

// encodeHeartbeat returns the data of a heartbeat.
func encodeHeartbeat(n Name, h Head, known, stale bool) []byte {
	w := wire(n, h, known)
	w.Stale = stale
	b, err := json.Marshal(w)
	if err != nil {
		return []byte("{}")
	}
	return b
}
