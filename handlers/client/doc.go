// Package client follows presence from another Go program: it reads who is online in the
// topics of a site over the site's stream of Server-Sent Events.
//
// [Follow] yields events until the loop ends, through restarts of the server and broken connections. It
// reconnects with its cursors, so that no event is missed or yielded twice. A [Roster] applies the events and
// holds who is online.
//
// Signals are ignored, and so are events, types and fields of later versions of the server. The package reads
// the stream with github.com/r3labs/sse; only programs that import this package compile that library.
package client
