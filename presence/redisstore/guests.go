package redisstore

import "github.com/rollcall-go/rollcall/presence"

// Guests stand in two places (rule 11). Two sketches, "guests" and "before", have those of
// this period and of the one before. A list, the sorted set "listed", has the same guests by
// id and by the time when each was last counted. Every count of a guest goes to both.
//
// The list makes the number exact, and makes it possible to forget a guest: then the
// sketches are made again from the list. The sketches serve many guests, since the list
// holds at most presence.ExactGuests of them. One more shows that there are many. Of more
// the list keeps the latest, so that it is complete again when the sets have turned behind a
// period of few guests. In a period that alone has many it keeps none: a flood of guests
// takes no memory but that of the sketches.
//
// Nodes of versions before the list write to the sketches alone, and turn these without the
// list. So the list is believed only where it agrees with the sketches:
//
//	12 listed, sketches say 12    all nodes have the list: 12, and each can be forgotten
//	12 listed, sketches say 40    28 or so came to older nodes: 40
//	40 listed, sketches say 12    an older node turned the sketches: 12
//	513 listed, sketches say 900  too many for the list: 900
//
// Older nodes read the sketches, so they show the right number in each case.

// guestsOf returns the number of guests, by the list and by the sketches. It agrees with
// isExact in lua/topic_guests.lua.
//
// A sketch of 16,384 registers is off by the guests who share one. Of n guests about
// n*n/32768 do, give or take the root of that, and the sketch allows for them: so it is off
// by n/181 as a rule, and by n/32+2 once in ten million sketches.
func guestsOf(listed, sketched int) int {
	off := max(listed-sketched, sketched-listed)
	if listed <= presence.ExactGuests && off <= 2+listed/32 {
		return listed
	}
	return sketched
}
