package redisstore

import (
	"encoding/json"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A wireNotice is the JSON of a notice in the log and in messages. Nodes ignore unknown fields and kinds.
type wireNotice struct {
	Kind    backend.NoticeKind `json:"kind,omitempty"`
	User    presence.UserID    `json:"user,omitempty"`
	Payload string             `json:"payload,omitempty"`
	Lasting bool               `json:"lasting,omitempty"`
	ID      string             `json:"id,omitempty"`
	Ago     time.Duration      `json:"ago,omitempty"` // in ns
}

func encodeNotice(n backend.Notice) (string, error) {
	text, err := json.Marshal(wireNotice{n.Kind, n.User, n.Payload, n.Lasting, n.ID, n.Ago})
	return string(text), err
}

func decodeNotice(text string) (backend.Notice, error) {
	var w wireNotice
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return backend.Notice{}, err
	}
	return backend.Notice{Kind: w.Kind, User: w.User, Payload: w.Payload, Lasting: w.Lasting, ID: w.ID, Ago: w.Ago}, nil
}
