// Package client follows presence from another Go program: who is online in the
// topics of a site, as it happens, over the site's stream of Server-Sent Events.
//
// [Follow] yields events for as long as the loop goes on, through restarts of the
// server and broken connections: it comes back with its cursors, so that nothing
// is missed and nothing is told twice. A [Roster] applies the events and says who
// is there. The bytes are read by github.com/r3labs/sse, which only programs get
// that import this package.
package client
