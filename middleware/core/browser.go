package core

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"

	"github.com/rollcall-go/rollcall/presence"
)

// browserLen is the length of a browser's id: 96 bits in base64url. Half of them are
// random; the other half signs these. A made-up id is not counted: a script would have to
// fetch each one.
const browserLen = 16

const signedLen = browserLen / 2 // of each half; a whole number of base64 groups

// browserPurpose separates these signatures from others with the same secret.
const browserPurpose = "guest"

// newBrowser returns an id for a browser. While the fleet's secret is not known, known is
// false and the id is not signed, so it never counts.
func newBrowser(tracker *presence.Tracker) (id string, known bool) {
	var random [browserLen * 6 / 8]byte
	rand.Read(random[:])
	id = base64.RawURLEncoding.EncodeToString(random[:])
	signature, known := sign(tracker, id[:signedLen])
	return id[:signedLen] + string(signature[:]), known
}

// signed reports whether this fleet has signed a browser's id. It costs half a
// microsecond, so it is called before a guest is counted and not for each page.
func signed(tracker *presence.Tracker, id string) bool {
	signature, known := sign(tracker, id[:signedLen])
	return known && subtle.ConstantTimeCompare([]byte(id[signedLen:]), signature[:]) == 1
}

// sign returns the signature of the random half of an id.
func sign(tracker *presence.Tracker, random string) (signature [signedLen]byte, known bool) {
	mac, known := tracker.Sign(browserPurpose, random)
	base64.RawURLEncoding.Encode(signature[:], mac[:signedLen*6/8])
	return signature, known
}
