package feed

import (
	"context"
	"sync"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A Keeper is the part of a fleet's feeds in one process: it keeps the feeds current that pages here follow,
// and has the methods for sites. A process needs one Keeper. All methods may be called concurrently. [New]
// makes one, [Keeper.Close] ends it.
//
// A method returns [ErrOut] while the database is out, and the errors in its description.
type Keeper struct {
	*relayer
	*mailer
	follower *follower
	hinter   *hinter

	store Store
	cfg   Config
	calls *calls
	stats counters

	end  context.CancelFunc
	done sync.WaitGroup
}

// New returns a Keeper, which opens the topics "inbox" and "feed:…" of the tracker, and starts
// its goroutines. A database that is out is no error. New returns
// [presence.ErrInvalidConfig] with every field that is wrong.
func New(store Store, tracker *track.Tracker, cfg Config) (*Keeper, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	k := &Keeper{store: store, cfg: cfg}
	k.follower = newFollower(store, tracker, &k.cfg, &k.stats)
	k.calls = k.follower.calls
	k.hinter = &hinter{tracker: tracker, stats: &k.stats, follower: k.follower, hints: newHints()}
	k.relayer = &relayer{store: store, cfg: &k.cfg, calls: k.calls, stats: &k.stats, logger: tracker.Config().Logger, hinter: k.hinter, kicked: wait.NewWakeup(), found: tracker.Found}
	k.mailer = &mailer{store: store, tracker: tracker, cfg: &k.cfg, calls: k.calls, stats: &k.stats, mails: newMails()}
	if err := tracker.Serve(source{k.follower, k.hinter}, string(InboxTopic), roomKind); err != nil {
		return nil, err
	}
	if users, ok := store.(UserStore); ok {
		tracker.AddRecords(userRecords{k, users})
	}
	ctx, end := context.WithCancel(context.Background())
	k.end = end
	for _, run := range []func(context.Context){k.follower.read, k.hinter.tell, k.follower.check, k.follower.sweep, k.relayWhenKicked, k.watchOutbox} {
		k.done.Go(func() { run(ctx) })
	}
	return k, nil
}

// A source is a Keeper as the tracker's LineSource.
type source struct {
	*follower // Open
	*hinter   // Hear
}

// Close ends the Keeper. It returns when no goroutine is left or ctx ends. Close the tracker
// first, and the database afterwards. It may be called twice.
func (k *Keeper) Close(ctx context.Context) error {
	k.end()
	done := make(chan struct{})
	go func() {
		k.done.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Config returns the configuration with its defaults filled in.
func (k *Keeper) Config() Config { return k.cfg }

// Head returns the head of a feed: from memory if a page here follows the feed, else by one query. Give ctx
// the deadline of the page. While the database is out it returns [ErrOut]. If a page here follows the feed,
// it also returns the latest known head.
func (k *Keeper) Head(ctx context.Context, n Name) (Head, error) {
	if l := k.follower.states.find(n); l != nil {
		switch v := l.view.Load(); {
		case v.known && v.stale:
			return v.head, ErrOut
		case v.known:
			return v.head, nil
		}
	}
	return k.headNow(ctx, n)
}

func (k *Keeper) headNow(ctx context.Context, n Name) (Head, error) {
	if err := n.Validate(); err != nil {
		return Head{}, err
	}
	heads, err := call(ctx, k.calls, func(ctx context.Context) ([]Head, error) { return k.store.Heads(ctx, n) })
	if err != nil {
		return Head{}, err
	}
	return heads[0], nil
}

// A Page is the head of a feed, and listed items, the newest first.
type Page struct {
	Head  Head
	Items []Item
	More  bool // there are older items
}

// MaxPage is how many items one page has at most.
const MaxPage = 100

// Page returns up to limit items of a feed below a place; before 0 is the top. limit is
// bounded to 1 and [MaxPage]. One query.
func (k *Keeper) Page(ctx context.Context, n Name, before int64, limit int) (Page, error) {
	if err := n.Validate(); err != nil {
		return Page{}, err
	}
	return readPage(ctx, k.calls, k.store, n, before, min(max(limit, 1), MaxPage))
}

func readPage(ctx context.Context, c *calls, store Store, n Name, before int64, limit int) (Page, error) {
	return call(ctx, c, func(ctx context.Context) (p Page, err error) {
		p.Head, p.Items, p.More, err = store.Page(ctx, n, before, limit)
		return p, err
	})
}

// A Query says what [Keeper.Read] returns.
type Query struct {
	Before int64           // items below this place; 0: the newest
	Limit  int             // at most so many, 1 to [MaxPage]. Default: [PageItems]
	Cursor presence.Cursor // the changes since the cursor; without it, a page
	Times  bool            // items of an inbox have SeenAt and ReadAt, as seen_at and read_at
}

// Read returns a page of a feed, or the changes since a cursor, as the data of a state or a diff. version
// identifies the content, except for the times at which items were seen. These change without a revision, so
// changes since a cursor lack them until the item changes in another way. If the changes do not reach back to
// the cursor, Read returns the newest page. Cost: one query; two with a cursor.
func (k *Keeper) Read(ctx context.Context, n Name, q Query) (data []byte, version presence.DiffID, err error) {
	if q.Limit == 0 {
		q.Limit = PageItems
	}
	if q.Cursor != "" {
		data, version, err = k.readSince(ctx, n, q.Cursor, q.Times)
		if data != nil || err != nil {
			return data, version, err
		}
	}
	p, err := k.Page(ctx, n, q.Before, q.Limit)
	if err != nil {
		return nil, "", err
	}
	return k.cfg.encodePage(n, p, q.Times), versionOf(n, p.Head), nil
}

// readSince returns nil if the reader needs a page.
func (k *Keeper) readSince(ctx context.Context, n Name, from presence.Cursor, times bool) ([]byte, presence.DiffID, error) {
	have, ok := from.Version(n.Topic())
	if !ok {
		return nil, "", nil
	}
	h, err := k.headNow(ctx, n) // the head in memory may be outdated
	if err != nil {
		return nil, "", err
	}
	rev, ok := revisionIn(n, h, have)
	if !ok {
		return nil, "", nil
	}
	prev := presence.NewCursor(n.Topic(), have)
	if rev == h.Rev {
		return k.cfg.encodeChanges(n, prev, h, nil, times), have, nil
	}
	changes, err := call(ctx, k.calls, func(ctx context.Context) ([]Change, error) { return k.store.Changes(ctx, Since{n, rev, h.Born}) })
	if err != nil || changes[0].Gap {
		return nil, "", err
	}
	h = changes[0].Head
	return k.cfg.encodeChanges(n, prev, h, changes[0].Items, times), versionOf(n, h), nil
}

// Cursor returns the cursor of a feed at a head. A stream that resumes from it misses nothing and repeats
// nothing.
func (k *Keeper) Cursor(n Name, h Head) presence.Cursor { return cursorOf(n, h, true) }

// Text returns the text of an item in an inbox, with names in place of {actors}.
func (k *Keeper) Text(i Item) string { return k.cfg.text(i) }
