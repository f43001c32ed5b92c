package simtest_test

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// An opener opens a page's stream at a process.
type opener func(ctx context.Context, at *process) (stream, error)

// choose says how the page reads.
func (p *page) choose() {
	rnd := rand.New(rand.NewPCG(p.w.game.seed, uint64(p.w.pages)+1_000_000))
	p.open, p.limit = p.openConnection, 1000
	if p.w.game.has(web) {
		p.open = []opener{p.openConnection, p.openEvents, p.openSocket, p.openPolls}[rnd.IntN(4)]
	}
	if p.w.game.has(limited) && rnd.IntN(2) == 0 {
		p.limit = 1 + rnd.IntN(4)
	}
	if p.w.game.has(windows) && rnd.IntN(2) == 0 {
		p.window = []int{1000, 1000, 1, 2, 3}[rnd.IntN(5)]
		p.limit = p.window
	}
}

// openConnection reads a track.Connection, without HTTP.
func (p *page) openConnection(ctx context.Context, at *process) (stream, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := at.tracker.Connect(ctx, track.ConnectOptions{
		Visitor: p.visitor(), Topics: p.asks(), Cursor: p.resumes(), Observe: p.person == nil, Beat: p.beats, Limit: p.limit, Window: track.Window{Users: p.window}, People: everybody(),
	})
	if err != nil {
		return nil, err
	}
	return connection{conn}, nil
}

// resumes returns where the page goes on.
func (p *page) resumes() presence.Cursor {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.id
}
