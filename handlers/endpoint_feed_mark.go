package handlers

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// headJSON is the JSON of an inbox after a mark.
type headJSON struct {
	Cursor presence.Cursor `json:"cursor"`
	Unread int             `json:"unread"`
	Unseen int             `json:"unseen"`
}

// mark marks items of the visitor's inbox, and answers with its counters.
func (e *feedEndpoints) mark(w http.ResponseWriter, r *http.Request, v presence.Visitor) error {
	if strings.TrimPrefix(r.URL.Path, e.cfg.prefix) != "/feed/mark" {
		return notFound("There is nothing at this path.")
	}
	if err := e.site.query(r, v).mine(); err != nil {
		return err
	}
	body, err := readBody(w, r, e.cfg.MaxBody)
	if err != nil {
		return err
	}
	mark, err := parseMark(body)
	if err != nil {
		return err
	}
	name := feed.Inbox(v.User.ID)
	ctx, cancel := storeContext(r)
	defer cancel()
	head, err := e.cfg.Feeds.Mark(ctx, name, mark)
	if err != nil {
		return err
	}
	return writeFresh(w, headJSON{e.cfg.Feeds.Cursor(name, head), head.Unread, head.Unseen})
}

// parseMark parses a mark from a JSON object. An unknown field is an error: with about and a misspelled upto,
// the mark would reach further than the page meant.
func parseMark(body []byte) (feed.Mark, error) {
	m := markRequest{topic: string(feed.InboxTopic)}
	fields, err := eachField(body, `{"topic":"inbox","as":"read","pos":[41,42]}`, m.set)
	switch {
	case err != nil:
		return m.mark, err
	case m.topic != string(feed.InboxTopic):
		return m.mark, badRequest("The topic of a mark is inbox, which is the visitor's own, and not " + shown(m.topic) + ".")
	case fields["as"] == nil:
		return m.mark, badRequest("The mark does not say as what: as is " + markWords + ".")
	}
	return m.mark, m.mark.Validate()
}

// markWords are the values of as.
const markWords = "read, unread, archived or seen"

// A markRequest has the fields of a request for a mark.
type markRequest struct {
	topic string
	mark  feed.Mark
}

// set reads one field of a request.
func (m *markRequest) set(name string, value json.RawMessage) (err error) {
	switch name {
	case "topic":
		m.topic, _ = jsonString(value)
	case "as":
		word, _ := jsonString(value)
		switch word {
		case "seen":
			m.mark.Seen = true
		case feed.Unread.String():
			m.mark.As = feed.Unread
		case feed.Read.String():
			m.mark.As = feed.Read
		case feed.Archived.String():
			m.mark.As = feed.Archived
		default:
			return notAWord(name, value, markWords)
		}
	case "about":
		var ok bool
		m.mark.About, ok = jsonString(value)
		if _, err := presence.ParseTopic(m.mark.About); !ok || err != nil {
			return badRequest("The value of about is what the items are about, such as thread:1: 1 to 128 bytes of A-Z a-z 0-9 _ - . and the colon.")
		}
	case "upto":
		// 0 means no bound in a [feed.Mark]: a page with an empty list would mark what it never showed.
		var place *int64
		if json.Unmarshal(value, &place) != nil || place == nil || *place < 1 {
			return badRequest("The value of upto is the place of an item: a whole number from 1.")
		}
		m.mark.UpTo = *place
	case "pos":
		m.mark.Pos, err = parsePlaces(value)
		return err
	default:
		return badRequest("There is no field " + shown(name) + " in a mark. The fields are topic, as, pos, about and upto.")
	}
	return nil
}

// parsePlaces returns a list of places.
func parsePlaces(value json.RawMessage) ([]int64, error) {
	var places []int64
	ok := json.Unmarshal(value, &places) == nil && len(places) > 0 && len(places) <= feed.MaxMarked
	for _, place := range places {
		ok = ok && place > 0 // null is 0
	}
	if !ok {
		return nil, badRequest("The value of pos is a list of 1 to " + strconv.Itoa(feed.MaxMarked) + " places of items, which are whole numbers from 1.")
	}
	return places, nil
}
