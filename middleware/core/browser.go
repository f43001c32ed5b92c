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

// The purposes of a signature. A signature with one purpose is invalid for any other use of the same secret.
const (
	// countedPurpose: the guest counts. The browser gets this id once its cookie came back,
	// if its address brings no more new guests than [maxNewGuests].
	countedPurpose = "guest"
	// newPurpose: the browser has been given the id, and nothing has come back.
	newPurpose = "new guest"
)

// newBrowser returns a new id for a browser. While the fleet's secret is not known, known
// is false and the id is not signed, so it never counts.
func (v *requestVisit) newBrowser() (id string, known bool) {
	var random [browserLen * 6 / 8]byte
	rand.Read(random[:])
	id = base64.RawURLEncoding.EncodeToString(random[:])
	signature, known := v.sign(newPurpose, id[:signedLen])
	return id[:signedLen] + string(signature[:]), known
}

// signed reports whether this fleet has signed a browser's id for a purpose and the tenant. It takes half a
// microsecond, so only the counting of a guest calls it, and not each page. A signature with the fleet's
// previous secret is valid too: after the store was wiped, a guest keeps the id and counts once.
func (v *requestVisit) signed(purpose, id string) bool {
	for _, sign := range [...]func(purpose, text string) (presence.MAC, bool){v.tracker.Sign, v.tracker.SignEarlier} {
		mac, known := sign(purpose, v.inside(id[:signedLen]))
		signature := encoded(mac)
		if known && subtle.ConstantTimeCompare([]byte(id[signedLen:]), signature[:]) == 1 {
			return true
		}
	}
	return false
}

// counted returns the id by which the guest of a new browser counts.
func (v *requestVisit) counted(id string) string {
	signature, _ := v.sign(countedPurpose, id[:signedLen])
	return id[:signedLen] + string(signature[:])
}

// sign returns the signature of the random half of an id. Each tenant has its own: an id of
// another tenant is made up (rule T2).
func (v *requestVisit) sign(purpose, random string) (signature [signedLen]byte, known bool) {
	mac, known := v.tracker.Sign(purpose, v.inside(random))
	return encoded(mac), known
}

// encoded returns the part of a MAC that stands in an id.
func encoded(mac presence.MAC) (signature [signedLen]byte) {
	base64.RawURLEncoding.Encode(signature[:], mac[:signedLen*6/8])
	return signature
}
