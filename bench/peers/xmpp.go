package main

import (
	"encoding/json"

	"github.com/rollcall-go/rollcall/bench/internal/npm"
)

// xmppSettings are the settings of page-xmpp.mjs.
type xmppSettings struct {
	Path     string `json:"path"`
	Key      string `json:"key,omitempty"`
	Accounts string `json:"accounts,omitempty"`
	Resume   int    `json:"resume,omitempty"` // seconds
	API      bool   `json:"api,omitempty"`
}

func startXMPP(in place, s xmppSettings) (*pageChild, error) {
	if err := npm.Write(in.dir, in.NodeModules, scriptTexts("ask.mjs")); err != nil {
		return nil, err
	}
	settings, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return startPages(in, "page-xmpp.mjs", scriptTexts("page-xmpp.mjs")["page-xmpp.mjs"], string(settings))
}
