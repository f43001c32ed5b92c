package handlers

import (
	"net/http"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// settingsJSON is the JSON of a user's settings.
type settingsJSON struct {
	Status presence.Status   `json:"status"`
	Text   string            `json:"text"`
	Until  string            `json:"until,omitempty"` // left out: the status has no end
	Online presence.Audience `json:"online"`
	Seen   presence.Audience `json:"seen"`
}

// ownSettings answers with what the visitor chose, or changes what the body names.
func (e *peopleEndpoints) ownSettings(w http.ResponseWriter, r *http.Request, v presence.Visitor) error {
	if !v.SignedIn() {
		return presence.ErrGuest
	}
	if r.Method == http.MethodPut {
		return e.putSettings(w, r, v.User.ID)
	}
	s, err := e.tracker.People().Settings(r.Context(), v.User.ID)
	if err != nil {
		return err
	}
	s = s.At(time.Now())
	return writeFresh(w, settingsJSON{s.Status, s.Text, rfc3339(s.Until), s.Online, s.Seen})
}

func (e *peopleEndpoints) putSettings(w http.ResponseWriter, r *http.Request, user presence.UserID) error {
	body, err := readBody(w, r, e.cfg.MaxBody)
	if err != nil {
		return err
	}
	change, err := parseSettings(body, time.Now())
	if err != nil {
		return err
	}
	if err := e.choices.change(r.Context(), user, change); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
