package main

import (
	"encoding/json"
)

// xmppSettings are the settings of page-xmpp.mjs.
type xmppSettings struct {
	Path     string `json:"path"`
	Key      string `json:"key,omitempty"`
	Accounts string `json:"accounts,omitempty"`
	Resume   int    `json:"resume,omitempty"`   // seconds
	Patience int    `json:"patience,omitempty"` // milliseconds
	API      bool   `json:"api,omitempty"`
	Sessions bool   `json:"sessions,omitempty"` // the roster is that of all sessions
}

func startXMPP(in place, s xmppSettings) (*pageChild, error) {
	settings, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return startPages(in, "page-xmpp.mjs", string(settings))
}
