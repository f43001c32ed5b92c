package redisstore

import (
	"encoding/json"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A wireNotice is a notice as it stands in the log and in messages, in JSON. The kinds
// that nodes of version 1 know have fields of their own, which these nodes read too. They
// ignore the other fields, and so every other kind.
type wireNotice struct {
	SignedOut presence.UserID  `json:"signed_out,omitempty"`
	Left      presence.Holder  `json:"left,omitempty"`
	LeftBy    presence.UserID  `json:"left_by,omitempty"`
	Status    presence.Status  `json:"status,omitempty"`
	StatusOf  presence.UserID  `json:"status_of,omitempty"`
	Topics    []presence.Topic `json:"topics,omitempty"` // of the status
	Idle      presence.UserID  `json:"idle,omitempty"`
	Attended  presence.UserID  `json:"attended,omitempty"`

	Kind    presence.NoticeKind `json:"kind,omitempty"` // any other kind
	User    presence.UserID     `json:"user,omitempty"`
	Payload string              `json:"payload,omitempty"`
	Lasting bool                `json:"lasting,omitempty"`

	Ago time.Duration `json:"ago,omitempty"` // in ns
}

func encodeNotice(n presence.Notice) (string, error) {
	w := wireNotice{Ago: n.Ago}
	switch n.Kind {
	case presence.NoticeSignedOut:
		w.SignedOut = n.User
	case presence.NoticeLeft:
		w.Left, w.LeftBy = presence.Holder(n.Payload), n.User
	case presence.NoticeStatus:
		w.StatusOf = n.User
		w.Status, w.Topics = n.Status()
	case presence.NoticeIdle:
		w.Idle = n.User
	case presence.NoticeAttended:
		w.Attended = n.User
	default:
		w.Kind, w.User, w.Payload, w.Lasting = n.Kind, n.User, n.Payload, n.Lasting
	}
	text, err := json.Marshal(w)
	return string(text), err
}

func decodeNotice(text string) (n presence.Notice, err error) {
	var w wireNotice
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return n, err
	}
	switch {
	case w.SignedOut != "":
		n = presence.SignOutNotice(w.SignedOut)
	case w.Left != "":
		n = presence.LeaveNotice(w.LeftBy, w.Left)
	case w.StatusOf != "":
		n = presence.StatusNotice(w.StatusOf, w.Status, w.Topics...)
	case w.Idle != "":
		n = presence.Notice{Kind: presence.NoticeIdle, User: w.Idle}
	case w.Attended != "":
		n = presence.Notice{Kind: presence.NoticeAttended, User: w.Attended}
	default:
		n = presence.Notice{Kind: w.Kind, User: w.User, Payload: w.Payload, Lasting: w.Lasting}
	}
	n.Ago = w.Ago
	return n, nil
}
