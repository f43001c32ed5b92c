package sqlstore_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

var relayOptions = feed.RelayOptions{MailAfter: 5 * time.Minute, Most: 1_000}

// relayAll relays until nothing is due.
func relayAll(t testing.TB, f *sqlstore.Feeds) (all feed.Relayed) {
	t.Helper()
	for more := true; more; {
		done, err := f.Relay(t.Context(), relayOptions)
		noError(t, err)
		all.Moved += done.Moved
		all.Changed = append(all.Changed, done.Changed...)
		all.Dropped, all.Failed = done.Dropped, done.Failed
		more = done.More
	}
	return all
}

func head(t testing.TB, f *sqlstore.Feeds, n feed.Name) feed.Head {
	t.Helper()
	heads, err := f.Heads(t.Context(), n)
	noError(t, err)
	return heads[0]
}
