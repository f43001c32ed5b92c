package client

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// Feed says how far a feed is. A feed is a room, or the inbox of the user whom Options.Header signs in.
type Feed struct {
	Topic  presence.Topic  // "inbox", or such as "feed:thread:1"
	Cursor presence.Cursor // the feed's version
	Unread int             // unread items; of an inbox
	Unseen int             // unread items that came since the user last looked; of an inbox
}

// FeedState is the newest items of a feed. A client's older items may still be in the feed, further down.
type FeedState struct {
	Feed
	Items []Item // the newest first
	More  bool   // the feed has older items
}

// FeedDiff is the items of a feed that changed since the previous event, as they are now. An
// item keeps its ID when its place changes.
type FeedDiff struct {
	Feed
	Items []Item // the newest first
}

// Item is one entry of a feed.
type Item struct {
	ID     string            `json:"id"`
	Pos    int64             `json:"pos"` // its place: a higher one is newer
	Type   string            `json:"type"`
	V      int               `json:"v"` // the version of Data
	At     time.Time         `json:"at"`
	Actors []presence.UserID `json:"actors"` // the latest one or two users behind the item, the latest first
	Names  []string          `json:"names"`  // the names of Actors
	Others int               `json:"others"` // how many more users are behind the item
	Count  int               `json:"n"`      // how many messages the item stands for
	About  string            `json:"about"`
	Text   string            `json:"text"`
	URL    string            `json:"url"`
	Data   json.RawMessage   `json:"data"`
	State  string            `json:"state"` // unread, read, archived or removed; in a room removed or empty
}

func (FeedState) event() {}
func (FeedDiff) event()  {}

// feedJSON has the fields that only the events of feeds have.
type feedJSON struct {
	Unread int     `json:"unread"`
	Unseen int     `json:"unseen"`
	Items  *[]Item `json:"items"` // nil: the event is not about a feed's items
	More   bool    `json:"more"`
}

// check refuses values that a server never sends.
func (f feedJSON) check() error {
	bad := f.Unread < 0 || f.Unseen < 0
	if f.Items != nil {
		for _, i := range *f.Items {
			bad = bad || i.ID == "" || i.Pos < 1 || i.Others < 0 || i.Count < 0
		}
	}
	if bad {
		return fmt.Errorf("%w: an item or a figure of a feed is impossible", ErrMalformed)
	}
	return nil
}

func (w eventJSON) feed() Feed {
	return Feed{Topic: w.Topic, Cursor: w.Cursor, Unread: w.Unread, Unseen: w.Unseen}
}
