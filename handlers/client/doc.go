// Package client follows presence from another Go program: it reads who is online in the
// topics of a site over the site's stream of Server-Sent Events.
//
// [Follow] yields events until the loop ends, through restarts of the server and broken
// connections. It reconnects with its cursors, so that no event is missed or yielded
// twice. A [Roster] applies the events and holds who is online. The events of a feed, such as
// the inbox of the user who is signed in, pass it by, and so do signals. [Whisper] sends a signal.
//
// Events, types and fields that a later version of the server may have are ignored. The package
// reads the stream with github.com/r3labs/sse; only programs that import it compile that in.
package client
