package handlers

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// muteJSON is the JSON of one mute.
type muteJSON struct {
	Scope string `json:"scope"`
	How   string `json:"how"`
	Until string `json:"until,omitempty"` // left out: the mute has no end
}

// mutes answers with the visitor's mutes, or changes one of them.
func (e *feedEndpoints) mutes(w http.ResponseWriter, r *http.Request, v presence.Visitor) error {
	if err := e.site.query(r, v).mine(); err != nil {
		return err
	}
	if r.Method == http.MethodPut {
		return e.putMute(w, r, v.User.ID)
	}
	ctx, cancel := storeContext(r)
	defer cancel()
	found, err := e.cfg.Feeds.Mutes(ctx, v.User.ID)
	if err != nil {
		return err
	}
	mutes := make([]muteJSON, len(found))
	for i, m := range found {
		mutes[i] = muteJSON{m.Scope, m.How.String(), rfc3339(m.Until)}
	}
	return writeFresh(w, map[string]any{"mutes": mutes})
}

func (e *feedEndpoints) putMute(w http.ResponseWriter, r *http.Request, user presence.UserID) error {
	body, err := readBody(w, r, e.cfg.MaxBody)
	if err != nil {
		return err
	}
	mute, err := parseMute(body, time.Now())
	if err != nil {
		return err
	}
	ctx, cancel := storeContext(r)
	defer cancel()
	if err := e.cfg.Feeds.Mute(ctx, user, mute); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// parseMute parses a mute from a JSON object.
func parseMute(body []byte, now time.Time) (m feed.Mute, err error) {
	fields, err := eachField(body, `{"scope":"about:thread:1","how":"all"}`, func(name string, value json.RawMessage) (err error) {
		switch name {
		case "scope":
			m.Scope, _ = jsonString(value)
		case "how":
			word, _ := jsonString(value)
			if m.How, err = feed.ParseHow(word); err != nil {
				return notAWord(name, value, "all, mail or nothing")
			}
		case "for":
			m.Until, err = parseFor(value, now)
			return err
		default:
			return badRequest("There is no field " + shown(name) + " in a mute. The fields are scope, how and for.")
		}
		return nil
	})
	switch {
	case err != nil:
		return m, err
	case fields["how"] == nil:
		return m, badRequest("The mute does not say how: all, mail or nothing.")
	case m.How == feed.MuteNothing && fields["for"] != nil:
		return m, badRequest("To mute nothing lifts a mute, and lasts: leave out for.")
	}
	return m, m.Validate()
}
