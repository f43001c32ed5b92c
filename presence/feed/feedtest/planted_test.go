package feedtest

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// A planted store is a Memory with one bug. The tests of mutants are inside the package: most
// bugs are in what the Memory keeps.
type planted struct {
	*Memory
	head    func(n feed.Name, h feed.Head) feed.Head // of all that is returned
	item    func(feed.Item) feed.Item
	named   func(feed.Name) feed.Name
	send    func(ms []feed.Message) error
	relay   func(o feed.RelayOptions) (feed.Relayed, error)
	page    func(n feed.Name, before int64, limit int) (feed.Head, []feed.Item, bool, error)
	changes func(since []feed.Since) ([]feed.Change, error)
	mark    func(n feed.Name, m feed.Mark) (feed.Head, error)
	edit    func(n feed.Name, id string, m feed.Message) (feed.Head, error)
	remove  func(n feed.Name, id string) (feed.Head, error)
	mute    func(user presence.UserID, m feed.Mute) error
	mutes   func(user presence.UserID) ([]feed.Mute, error)
	due     func(most int, claim time.Duration) ([]feed.Digest, error)
	settle  func(d feed.Digest, sent bool, later time.Duration) error
	trim    func(o feed.TrimOptions) (int, error)
	recount func(most int) (int, error)
	waiting func() (feed.Outbox, error)
	deaf    bool // to contexts
}

// bg is the context of calls that a bug makes of its own.
var bg = context.Background()

func (p *planted) ctx(ctx context.Context) context.Context {
	if p.deaf {
		return bg
	}
	return ctx
}

func (p *planted) out(n feed.Name, h feed.Head) feed.Head {
	if p.head != nil {
		return p.head(n, h)
	}
	return h
}

func (p *planted) in(n feed.Name) feed.Name {
	if p.named != nil {
		return p.named(n)
	}
	return n
}

func (p *planted) items(items []feed.Item) []feed.Item {
	for i := range items {
		if p.item != nil {
			items[i] = p.item(items[i])
		}
	}
	return items
}

func (p *planted) Send(ctx context.Context, ms ...feed.Message) error {
	if p.send != nil {
		return p.send(ms)
	}
	return p.Memory.Send(p.ctx(ctx), ms...)
}

func (p *planted) Relay(ctx context.Context, o feed.RelayOptions) (feed.Relayed, error) {
	if p.relay != nil {
		return p.relay(o)
	}
	return p.Memory.Relay(p.ctx(ctx), o)
}

func (p *planted) Heads(ctx context.Context, names ...feed.Name) ([]feed.Head, error) {
	theirs := make([]feed.Name, len(names))
	for i, n := range names {
		theirs[i] = p.in(n)
	}
	heads, err := p.Memory.Heads(ctx, theirs...)
	for i := range heads {
		heads[i] = p.out(names[i], heads[i])
	}
	return heads, err
}

func (p *planted) Page(ctx context.Context, n feed.Name, before int64, limit int) (feed.Head, []feed.Item, bool, error) {
	page := p.page
	if page == nil {
		page = func(n feed.Name, before int64, limit int) (feed.Head, []feed.Item, bool, error) {
			return p.Memory.Page(ctx, n, before, limit)
		}
	}
	h, items, more, err := page(p.in(n), before, limit)
	return p.out(n, h), p.items(items), more, err
}

func (p *planted) Changes(ctx context.Context, since ...feed.Since) ([]feed.Change, error) {
	theirs := append([]feed.Since(nil), since...)
	for i := range theirs {
		theirs[i].Name = p.in(theirs[i].Name)
	}
	changes := p.changes
	if changes == nil {
		changes = func(since []feed.Since) ([]feed.Change, error) { return p.Memory.Changes(ctx, since...) }
	}
	all, err := changes(theirs)
	for i := range all {
		all[i].Head, all[i].Items = p.out(since[i].Name, all[i].Head), p.items(all[i].Items)
	}
	return all, err
}

func (p *planted) Mark(ctx context.Context, n feed.Name, m feed.Mark) (feed.Head, error) {
	if p.mark != nil {
		return p.mark(n, m)
	}
	h, err := p.Memory.Mark(p.ctx(ctx), p.in(n), m)
	return p.out(n, h), err
}

func (p *planted) Edit(ctx context.Context, n feed.Name, id string, m feed.Message) (feed.Head, error) {
	if p.edit != nil {
		return p.edit(n, id, m)
	}
	return p.Memory.Edit(ctx, n, id, m)
}

func (p *planted) Remove(ctx context.Context, n feed.Name, id string) (feed.Head, error) {
	if p.remove != nil {
		return p.remove(n, id)
	}
	return p.Memory.Remove(ctx, n, id)
}

func (p *planted) Mute(ctx context.Context, user presence.UserID, m feed.Mute) error {
	if p.mute != nil {
		return p.mute(user, m)
	}
	return p.Memory.Mute(ctx, user, m)
}

func (p *planted) Mutes(ctx context.Context, user presence.UserID) ([]feed.Mute, error) {
	if p.mutes != nil {
		return p.mutes(user)
	}
	return p.Memory.Mutes(ctx, user)
}

func (p *planted) Due(ctx context.Context, most int, claim time.Duration) ([]feed.Digest, error) {
	if p.due != nil {
		return p.due(most, claim)
	}
	return p.Memory.Due(ctx, most, claim)
}

func (p *planted) Settle(ctx context.Context, d feed.Digest, sent bool, later time.Duration) error {
	if p.settle != nil {
		return p.settle(d, sent, later)
	}
	return p.Memory.Settle(ctx, d, sent, later)
}

func (p *planted) Trim(ctx context.Context, o feed.TrimOptions) (int, error) {
	if p.trim != nil {
		return p.trim(o)
	}
	return p.Memory.Trim(ctx, o)
}

func (p *planted) Recount(ctx context.Context, most int) (int, error) {
	if p.recount != nil {
		return p.recount(most)
	}
	return p.Memory.Recount(ctx, most)
}

func (p *planted) Waiting(ctx context.Context) (feed.Outbox, error) {
	if p.waiting != nil {
		return p.waiting()
	}
	return p.Memory.Waiting(ctx)
}

// meddle changes what the Memory keeps of each feed.
func (p *planted) meddle(change func(n feed.Name, l *list)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n, l := range p.feeds {
		change(n, l)
	}
}

// A mutant is a bug, and the case that must catch it: its rule, a slash, and the beginning of
// its title, or all of it and a $.
type mutant struct {
	bug    string
	caught string
	plant  func(*planted, *Site)
}

// catchMutants runs for each mutant the case that must catch it.
func catchMutants(t *testing.T, mutants []mutant) {
	for _, m := range mutants {
		t.Run(strings.ReplaceAll(m.bug, " ", "_"), func(t *testing.T) {
			found := 0
			for _, c := range cases() {
				name := c.rule + "/" + c.title
				if exact := strings.HasSuffix(m.caught, "$"); exact && name+"$" != m.caught || !exact && !strings.HasPrefix(name, m.caught) {
					continue
				}
				found++
				p := &planted{Memory: NewMemory()}
				site := p.Site()
				site.Store = p
				m.plant(p, &site)
				if r := record(t, func(t testing.TB) { c.run(t, site) }); !r.failed {
					t.Errorf("case %q passed", c.name())
				}
			}
			if found != 1 {
				t.Errorf("%d cases begin with %q, want 1", found, m.caught)
			}
		})
	}
}

// A recorder is a test that may fail.
type recorder struct {
	testing.TB
	mu     sync.Mutex
	failed bool
	said   []string
}

// record runs a test in a goroutine of its own, which a Fatal ends.
func record(t *testing.T, test func(testing.TB)) *recorder {
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(r)
	}()
	<-done
	return r
}

func (r *recorder) fail(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
	r.said = append(r.said, text)
}

func (r *recorder) Errorf(format string, args ...any) { r.fail(fmt.Sprintf(format, args...)) }
func (r *recorder) Error(args ...any)                 { r.fail(fmt.Sprint(args...)) }
func (r *recorder) Fatal(args ...any)                 { r.fail(fmt.Sprint(args...)); runtime.Goexit() }
func (r *recorder) Skip(...any)                       { runtime.Goexit() }
func (r *recorder) Fatalf(format string, args ...any) {
	r.fail(fmt.Sprintf(format, args...))
	runtime.Goexit()
}
