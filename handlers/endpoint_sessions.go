package handlers

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// sessionJSON is the JSON of one session.
type sessionJSON struct {
	ID          presence.DeviceID `json:"id"`
	Kind        string            `json:"kind"`
	Label       string            `json:"label"`
	Since       string            `json:"since"`
	Connections int               `json:"connections"`
	Current     bool              `json:"current"` // the device that asks
}

// ownSessions answers with the devices from which the visitor is online.
func (e *peopleEndpoints) ownSessions(w http.ResponseWriter, r *http.Request, v presence.Visitor) error {
	ctx, cancel := storeContext(r)
	defer cancel()
	found, err := e.tracker.People().Sessions(ctx, v.User.ID)
	if err != nil {
		return err
	}
	sessions := make([]sessionJSON, len(found))
	for i, s := range found {
		sessions[i] = sessionJSON{
			ID: s.ID, Kind: cmp.Or(s.Kind, presence.OtherDevice), Label: s.Label,
			Since: rfc3339(s.Since), Connections: s.Connections, Current: s.ID == v.Device.ID,
		}
	}
	return writeFresh(w, map[string]any{"sessions": sessions})
}

// endOwnSession ends the visitor's session of the device in the path. The answer is the same for a session
// that has ended, a session of another user, and one that never existed.
func (e *peopleEndpoints) endOwnSession(w http.ResponseWriter, r *http.Request, v presence.Visitor) error {
	device := presence.DeviceID(strings.TrimPrefix(r.URL.Path, e.cfg.prefix+"/sessions/"))
	if err := e.endSession(r.Context(), v.User.ID, device); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
