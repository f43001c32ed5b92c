package feed

import (
	"context"
	"sync"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A Keeper is one process's part in the feeds of a fleet: it keeps current what pages here
// follow, and has the verbs of a site. One Keeper serves a whole process. All methods may be
// called concurrently. [New] makes one, [Keeper.Close] ends it.
//
// Its errors are [ErrOut] while the database is out, and what the method names.
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

// A source is what the tracker sees of a Keeper.
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

// Head returns the head of a feed: from memory if a page here follows the feed, else by one
// query. Give ctx the deadline of the page. While the database is out it returns [ErrOut], and
// with it the head that was known last if a page here follows the feed.
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
	Cursor presence.Cursor // what changed since; without it, a page
	Times  bool            // items of an inbox have their SeenAt and ReadAt, as seen_at and read_at
}

// Read returns a page of a feed, or what changed since a cursor, as the data of a state or a
// diff has it. version names the content, but for the times that the items were seen: these change
// without a revision, so what changed since a cursor lacks them until the item changes. Where the changes do not reach back to the cursor
// it returns the newest page. Cost: a query; two with a cursor.
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

// readSince returns nil where a page must be taken.
func (k *Keeper) readSince(ctx context.Context, n Name, from presence.Cursor, times bool) ([]byte, presence.DiffID, error) {
	have, ok := from.Version(n.Topic())
	if !ok {
		return nil, "", nil
	}
	h, err := k.headNow(ctx, n) // what is in memory may be behind
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

// Cursor returns the cursor of a feed at a head: a stream that resumes there misses nothing
// and repeats nothing.
func (k *Keeper) Cursor(n Name, h Head) presence.Cursor { return cursorOf(n, h, true) }

// Text returns the text of an item of an inbox, with who did it in place of {actors}.
func (k *Keeper) Text(i Item) string { return k.cfg.text(i) }
