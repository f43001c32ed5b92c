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
}

// The rows with fixes: a session outlives its page by the first while the user goes to the next
// page, and a leave that the server tells at once, as when it is deployed, is shown after the second.
const (
	xmppResume   = 10   // seconds
	xmppPatience = 5000 // milliseconds
)

func startXMPP(in place, s xmppSettings) (*pageChild, error) {
	settings, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return startPages(in, "page-xmpp.mjs", string(settings))
}
