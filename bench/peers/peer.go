package main

import (
	"context"
	"time"
)

// A peer is one row of the tables: a server, its settings, and the page that a site would write
// for it.
type peer struct {
	name  string // as -peers and the tables name it: "Rollcall", "Rollcall, ttl 10 s"
	says  string // version and settings, for the README
	year  string // of the version's release
	needs string // what a site runs and writes beside its own pages
	// without are the ingredients that the peer does not have. A scenario that needs one of them
	// has no cell in this row.
	without []ingredient
	// slowest is the longest time in which this row shows a leave if its settings are kept, even
	// after a crash. The scenarios watch at least that long. Zero: a minute.
	slowest time.Duration
	// renewal is the longest interval at which this row renews what it knows. A failure has a random
	// place in it.
	renewal time.Duration
	// missing returns why the peer cannot be played here, or nil.
	missing func(config) error
	// prepare makes an empty fleet. It starts no node. A fleet that comes with an error is closed.
	prepare func(ctx context.Context, in place) (fleet, error)
}

// An ingredient is a thing that a scenario breaks.
type ingredient string

const (
	aRedis      ingredient = "a Redis"
	aConnection ingredient = "a connection that stays" // a poller has none
	aSecondNode ingredient = "a second node"           // prosody has no cluster
	aLeanPage   ingredient = "pages by the thousand"   // not where pages run in one process of Node.js
)

// A place is what the driver gives to a fleet.
type place struct {
	config
	dir   string // a directory of its own, removed afterwards
	redis string // host:port of a Redis, which stays the same when the Redis behind it is replaced
}

// A fleet is two nodes of a peer, numbered 1 and 2, and its pages. A scenario may start a node 3. Each method may be called
// from several goroutines. A page connects to an address that the driver gives: the node's own,
// or a proxy before it.
type fleet interface {
	// start starts a node, or starts it again at the same address, and returns once it answers.
	start(ctx context.Context, node int) error
	kill(node int)       // as kill -9
	stop(node int) error // as a deployment: SIGTERM, and SIGKILL after ten seconds
	addr(node int) string
	pid(node int) int // of the node's process; 0: it has none

	// open lets a user open a page, and returns once the user is there as far as the page knows.
	// The page does not connect again: the driver opens another one.
	open(ctx context.Context, addr, user string) (tab, error)
	// watch opens the page that is judged. It calls show, one call after another, for whatever
	// changes in the list that the page displays. It connects again by itself, as the peer's client
	// does, and it shows its last list meanwhile. If it needs a name, that is watcherName.
	watch(ctx context.Context, addr string, show func(change)) (tab, error)
	// roster asks a node who is there, in the way that the peer documents.
	roster(ctx context.Context, node int) ([]string, error)
	// close ends everything.
	close()
}

// watcherName is a user whom the driver does not count.
const watcherName = "watcher"

// A tab is an open page.
type tab interface {
	// close closes the socket, and says no goodbye. To close the page twice is no error.
	close()
	// gone is closed once the server has ended the page's connection, or close was called.
	gone() <-chan struct{}
}

// A change is what changes in the list of a page.
type change struct {
	All    bool     // Joins are the whole list: whoever is not among them is no longer shown
	Joins  []string // users
	Leaves []string
}

// peers are the rows, in the order of the tables.
var peers = []*peer{
	rollcallDefault, rollcallShort, centrifugo, centrifugoFixed, centrifugeLibrary,
	socketIO, socketIOFetch, socketIOFixed, hocuspocus, hocuspocusFixed, ejabberd, ejabberdFixed, prosody, prosodyFixed,
	phpBB, heartbeats, shortHeartbeats,
}
