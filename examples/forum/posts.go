package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// A query for posts takes postsWait at most. After a failed query, pages show the known posts for postsPause.
// So an unreachable database slows down only one page a second.
const (
	postsWait  = 500 * time.Millisecond
	postsPause = time.Second
)

// pagePosts is how many posts one page of a thread has at most.
const pagePosts = 200

// maxTenants is the number of tenants whose posts a process keeps. It drops the oldest ones.
const maxTenants = 1000

// posts has the posts of the threads for pages: from the database, or while that is unreachable, the latest
// ones that are known here. All methods may be called concurrently.
type posts struct {
	db    *database // nil: the posts are fixed
	first []thread  // the threads with the posts of a new forum
	ids   []int     // ids of the threads

	mu      sync.Mutex
	known   map[string][]thread // by tenant, in the order of threads(); a missing tenant has the forum's first posts
	tenants []string            // the tenants in known, the oldest first
	paused  time.Time           // no query is made until then
}

func newPosts(db *database, threads []thread) *posts {
	p := &posts{db: db, first: threads, known: make(map[string][]thread)}
	for _, t := range threads {
		p.ids = append(p.ids, t.ID)
	}
	return p
}

// threads returns all threads of a tenant, for the front page.
func (p *posts) threads(ctx context.Context, tenant string) []thread {
	var latest map[int]post
	p.ask(ctx, func(ctx context.Context) (err error) {
		latest, err = p.db.latestPosts(ctx, tenant, p.ids)
		return err
	})
	all := slices.Clone(p.knownOf(tenant))
	for i, t := range all {
		if last, ok := latest[t.ID]; ok && last.N >= t.Last.N {
			all[i] = t.until(last)
			p.learn(tenant, all[i])
		}
	}
	return all
}

// thread returns a tenant's thread with its latest posts. If before is not 0, it returns the latest posts
// before that number. fresh is true if they were read just now, and false if they were known here. It returns
// false for ok if there are no such posts, or if they are neither readable nor known.
func (p *posts) thread(ctx context.Context, tenant string, id, before int) (t thread, fresh, ok bool) {
	var page []post
	fresh = p.ask(ctx, func(ctx context.Context) (err error) {
		page, err = p.db.postsOf(ctx, tenant, id, before, pagePosts)
		return err
	})
	t, ok = p.get(tenant, id)
	switch {
	case !ok:
		return thread{}, false, false
	case fresh && len(page) == 0: // nobody has posted in this tenant's forum yet
		return t.with(p.begin(id).before(before)), true, true
	case before > 0 && len(page) == 0:
		return t, fresh || p.db == nil, false
	case len(page) == 0:
		return t, false, true
	case before == 0:
		p.learn(tenant, t.with(page).until(page[len(page)-1]))
	}
	return t.with(page), fresh, true
}

// post returns one post as it is now, and whether there is a post with that number. It returns errPostsOut if
// that is unknown.
func (p *posts) post(ctx context.Context, tenant string, id, n int) (found post, ok bool, err error) {
	if n < 0 || p.db == nil {
		return post{}, false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, formWait) // a longer wait, since there is nothing to show instead
	defer cancel()
	page, err := p.db.postsOf(ctx, tenant, id, n+1, 1)
	if err != nil {
		return post{}, false, errPostsOut
	}
	if len(page) == 0 { // nobody has posted in this tenant's forum yet
		page = p.begin(id).before(n + 1)
	}
	found = page[len(page)-1]
	return found, found.N == n, nil
}

// errPostsOut is the error while posts cannot be read.
var errPostsOut = errors.New("the posts cannot be read")

// begin returns a thread with the posts that a new forum has.
func (p *posts) begin(id int) thread {
	return p.first[slices.Index(p.ids, id)]
}

// has reports whether a thread has a post with a number. Posts are never removed, so it asks the database only
// about unknown ones.
func (p *posts) has(ctx context.Context, tenant string, id, n int) bool {
	if t, ok := p.get(tenant, id); !ok || 0 <= n && n <= t.Last.N {
		return ok
	}
	ctx, cancel := context.WithTimeout(ctx, postsWait)
	defer cancel()
	found, ok, _ := p.post(ctx, tenant, id, n)
	if t, known := p.get(tenant, id); ok && known {
		p.learn(tenant, t.until(found))
	}
	return ok
}

// learn stores a tenant's thread with its latest posts in known.
func (p *posts) learn(tenant string, t thread) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.known[tenant]
	if !ok {
		known = slices.Clone(p.first)
		p.tenants = append(p.tenants, tenant)
		p.known[tenant] = known
	}
	for i, was := range known {
		if was.ID == t.ID && was.Last.N <= t.Last.N {
			known[i] = t
		}
	}
	if len(p.tenants) > maxTenants {
		delete(p.known, p.tenants[0])
		p.tenants = slices.Delete(p.tenants, 0, 1)
	}
}

func (p *posts) knownOf(tenant string) []thread {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.known[tenant]; ok {
		return slices.Clone(known) // a copy, since learn writes to it
	}
	return p.first
}

func (p *posts) get(tenant string, id int) (thread, bool) {
	for _, t := range p.knownOf(tenant) {
		if t.ID == id {
			return t, true
		}
	}
	return thread{}, false
}

// ask makes a query, unless the latest one failed a moment ago. It returns whether the query succeeded.
func (p *posts) ask(ctx context.Context, query func(context.Context) error) bool {
	if p.db == nil || p.isPaused() {
		return false
	}
	bounded, cancel := context.WithTimeout(ctx, postsWait)
	defer cancel()
	err := query(bounded)
	if ctx.Err() == nil { // otherwise the reader has gone, and the error says nothing about the database
		p.pause(err != nil)
	}
	return err == nil
}

func (p *posts) isPaused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.paused)
}

// resume makes the next page ask the database.
func (p *posts) resume() { p.pause(false) }

func (p *posts) pause(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = time.Time{}
	if on {
		p.paused = time.Now().Add(postsPause)
	}
}
