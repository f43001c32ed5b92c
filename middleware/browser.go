package middleware

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"

	"github.com/rollcall-go/rollcall/presence"
)

// browserLen is the length of a browser's id: 96 bits in base64url, of which half
// are random and half sign the other. A script that makes up ids is counted for
// none of them: it would have to fetch each one.
const browserLen = 16

const signedLen = browserLen / 2 // both halves are whole groups of base64

// browserPurpose keeps these signatures apart from all others of the site.
const browserPurpose = "guest"

// newBrowser returns an id for a browser. It is not signed, and so never counted,
// while the fleet's secret is not known: then known is false.
func newBrowser(tracker *presence.Tracker) (id string, known bool) {
	var random [browserLen * 6 / 8]byte
	rand.Read(random[:])
	id = base64.RawURLEncoding.EncodeToString(random[:])
	signature, known := sign(tracker, id[:signedLen])
	return id[:signedLen] + string(signature[:]), known
}

// signed reports whether this fleet gave a browser its id. It costs half a
// microsecond, so it is asked before a guest is counted, and not for each page.
func signed(tracker *presence.Tracker, id string) bool {
	signature, known := sign(tracker, id[:signedLen])
	return known && subtle.ConstantTimeCompare([]byte(id[signedLen:]), signature[:]) == 1
}

func sign(tracker *presence.Tracker, random string) (signature [signedLen]byte, known bool) {
	mac, known := tracker.Sign(browserPurpose, random)
	base64.RawURLEncoding.Encode(signature[:], mac[:signedLen*6/8])
	return signature, known
}
