package track

import (
	"cmp"
	"time"

	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// userRecords has what this node knows of users in all topics: what each chose, and when what holds a user ended. The users
// who were used longest ago are dropped first. That is safe: the choice is asked for again, and the store knows who signed
// out.
//
// No other mutex is taken while its mutex is held, so a topic may ask while it changes its roster.
type userRecords struct {
	mu      recordsMutex
	choices *generations.Map[presence.UserID, *choice]         // nothing for most: 40 bytes a user, and not 200
	ends    *generations.Map[holding, time.Time]               // when each ended last
	left    *generations.Map[presence.Holder, presence.UserID] // connections whose pages said goodbye: many, so apart
	hid     time.Time                                          // when this node last learned that a user hides
}

// A holding is what may hold a user: everything, or the part of one device or browser, or the page views.
type holding struct {
	member  presence.UserID // the user, or of a device its member of backend.DevicesTopic
	browser browserTag      // a browser in which the user signed in
	views   bool            // page views
}

func newUserRecords(forgotten func(int)) *userRecords {
	return &userRecords{
		choices: generations.New[presence.UserID, *choice](2*maxUsersKnown, forgotten),
		ends:    generations.New[holding, time.Time](2*maxUsersKnown, forgotten),
		left:    generations.New[presence.Holder, presence.UserID](maxUsersKnown, nil),
	}
}

// choice returns what a user chose, and whether this node knows.
func (k *userRecords) choice(user presence.UserID) (choice, bool) {
	c, known := k.last(user)
	if c.unsure {
		return choice{}, false
	}
	return c, known
}

// last returns what a user chose, as far as this node ever knew. It may be unsure.
func (k *userRecords) last(user presence.UserID) (choice, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c, known := k.choices.Use(user)
	if !known {
		return choice{}, false
	}
	return *c, true
}

// nothing is what a user chose who never chose anything.
var nothing = choiceOf(presence.Settings{}, time.Time{}, time.Time{})

// learn remembers what a user chose.
func (k *userRecords) learn(user presence.UserID, now choice) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if was, known := k.choices.Get(user); now.hides() && !(known && was.hides()) {
		k.hid = time.Now()
	}
	kept := &nothing
	if now != nothing {
		kept = &now
	}
	k.choices.Set(user, kept)
}

func (k *userRecords) lastHid() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.hid
}

// all returns the choices that are known.
func (k *userRecords) all() map[presence.UserID]choice {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := make(map[presence.UserID]choice, k.choices.Len())
	for user, c := range k.choices.All() {
		all[user] = *c
	}
	return all
}

// doubt makes what a user chose unsure.
func (k *userRecords) doubt(user presence.UserID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c, known := k.choices.Get(user); known && *c != nothing {
		doubtful := *c
		doubtful.unsure = true
		k.choices.Replace(user, &doubtful)
	} else {
		k.choices.Delete(user)
	}
}

// end notes that a user signed out at a moment, or that the session of a member of backend.DevicesTopic ended.
func (k *userRecords) end(member presence.UserID, at time.Time) { k.note(holding{member: member}, at) }

// endBrowser notes that a user signed out of a browser at a moment. It may be any browser that is not known.
func (k *userRecords) endBrowser(user presence.UserID, browser browserTag, at time.Time) {
	k.note(holding{member: user, browser: browser}, at)
	k.note(holding{member: user, browser: unknownBrowser}, at)
}

// unknownBrowser stands for the browser of a visitor whose browser the site does not tell. It is no tag of a browser.
const unknownBrowser browserTag = "?"

// endConnection notes that the page of a connection said goodbye.
func (k *userRecords) endConnection(user presence.UserID, connection presence.Holder) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left.Set(connection, user)
}

// hasLeft reports whether the page of a connection said goodbye.
func (k *userRecords) hasLeft(connection presence.Holder) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, left := k.left.Get(connection)
	return left
}

// endViews notes that page views of a user until a moment no longer count.
func (k *userRecords) endViews(user presence.UserID, at time.Time) {
	k.note(holding{member: user, views: true}, at)
}

func (k *userRecords) note(what holding, at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if was, _ := k.ends.Get(what); at.After(was) {
		k.ends.Set(what, at)
	}
}

func (k *userRecords) latest(of ...holding) (at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, what := range of {
		end, _ := k.ends.Get(what)
		at = later(at, end)
	}
	return at
}

// endedAt returns when a user signed out last, or when the session of a device ended; zero if this node knows of no such
// moment.
func (k *userRecords) endedAt(member presence.UserID) time.Time {
	return k.latest(holding{member: member})
}

// outAt returns when a member of a topic last signed out: the user, or of a device the user or the device.
func (k *userRecords) outAt(topic presence.Topic, member presence.UserID) time.Time {
	return k.latest(holding{member: member}, holding{member: ownerIn(topic, member)})
}

// viewsEndedAt returns the moment until which page views of a user no longer count.
func (k *userRecords) viewsEndedAt(user presence.UserID) time.Time {
	return k.latest(holding{member: user}, holding{member: user, views: true})
}

// visitorEndedAt returns until when the connections of a visitor ended by a sign-out: of the user, the browser, or the
// device.
func (k *userRecords) visitorEndedAt(v presence.Visitor) time.Time {
	return k.visitEndedAt(v, tagOf(v.Browser))
}

func (k *userRecords) visitEndedAt(v presence.Visitor, browser browserTag) time.Time {
	return k.latest(holding{member: v.User.ID}, holding{member: v.User.ID, browser: cmp.Or(browser, unknownBrowser)},
		holding{member: backend.MemberOf(v.User.ID, v.Device.ID)})
}

// claimEnded reports whether what a claim's connection holds has ended: its page said goodbye, or the user signed out since
// the visitor was identified.
func (k *userRecords) claimEnded(c claim, identified time.Time) bool {
	return k.hasLeft(c.id) || k.visitEndedAt(c.visitor(), browserOf(c.id)).After(identified)
}

// forget forgets an erased user.
func (k *userRecords) forget(e backend.Erasure) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.choices.Delete(e.User)
	for what := range k.ends.All() {
		if e.Names(what.member) {
			k.ends.Delete(what)
		}
	}
	for connection, user := range k.left.All() {
		if e.Names(user) {
			k.left.Replace(connection, "") // the token stays worth nothing
		}
	}
}
