//go:build !presence_v2

package handlers

import "github.com/rollcall-go/rollcall/presence"

// downgrade converts the data of an event from a version to the one before. There is one
// version, so nothing calls it.
func downgrade(_ int, e presence.Event) []byte { return e.Data }
