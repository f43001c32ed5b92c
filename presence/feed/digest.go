package feed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence/track"
)

// Bounds of digests.
const (
	dueAtOnce   = 100
	claimFor    = 5 * time.Minute // after this, a digest that was not settled is due again
	sendAgain   = time.Minute     // after the first error of send; the pause doubles with each further one
	sendLatest  = time.Hour       // the longest pause
	mailLatest  = 6 * time.Hour   // the longest pause between two checks whether the user is away
	unknownWait = time.Minute     // the pause if it is unknown whether the user is at a page
)

// A mailer sends digests to users who are away.
type mailer struct {
	store   Store
	tracker *track.Tracker
	cfg     *Config
	calls   *calls
	stats   *counters
	mails   *mails
}

// Digest calls send for each digest that is due and whose user is at no page, for all tenants. The digest has
// the tenant, and the user's id as identify returned it. Digest calls send for up to eight digests at once,
// and waits 30 seconds for each, so a mail that hangs does not delay others. After an error of send the
// digest is due again, a minute to an hour later. After a crash of the process it is due within five minutes,
// with the same Key. So each digest is sent at least once, and the Key identifies repetitions. A job calls
// Digest every half minute. It also returns the errors of send.
func (m *mailer) Digest(ctx context.Context, send func(context.Context, Digest) error) error {
	var problems []error
	for ctx.Err() == nil {
		claimed := time.Now()
		due, err := call(ctx, m.calls, func(ctx context.Context) ([]Digest, error) { return m.store.Due(ctx, dueAtOnce, claimFor) })
		if err != nil {
			return errors.Join(append(problems, err)...)
		}
		problems = append(problems, m.digests(ctx, due, claimed.Add(claimFor/2), send)...)
		if len(due) < dueAtOnce {
			break
		}
	}
	return errors.Join(problems...)
}

// digests sends claimed digests, and returns what failed. It starts none after until, when the claim ends:
// another node may then claim the rest, and both must not send it.
func (m *mailer) digests(ctx context.Context, due []Digest, until time.Time, send func(context.Context, Digest) error) (problems []error) {
	var mu sync.Mutex
	var workers sync.WaitGroup
	var next atomic.Int64
	for range min(sendAtOnce, len(due)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(due) && time.Now().Before(until); i = next.Add(1) - 1 {
				if err := m.digest(ctx, due[i], send); err != nil {
					mu.Lock()
					problems = append(problems, err)
					mu.Unlock()
				}
			}
		})
	}
	workers.Wait()
	return problems
}

// digest sends one digest, or postpones it.
func (m *mailer) digest(ctx context.Context, d Digest, send func(context.Context, Digest) error) error {
	at, err := m.tracker.Attended(ctx, d.User.In(d.Tenant))
	if err != nil || at {
		later := min(max(d.Waited, m.cfg.MailAfter)*3/2, mailLatest)
		if err != nil {
			later = unknownWait
		}
		m.stats.digest("put_off")
		d.Key = "" // nobody got it, so the next one may have newer items
		return m.settle(ctx, d, false, later)
	}
	if err := m.mails.send(ctx, d, send); err != nil {
		m.stats.digest("failed")
		later := min(max(2*d.Waited, sendAgain), sendLatest)
		return errors.Join(fmt.Errorf("a digest was not sent, and is due again in %v: %w", later, err), m.settle(ctx, d, false, later))
	}
	m.stats.digest("sent")
	return m.settle(ctx, d, true, m.cfg.MailAfter)
}

func (m *mailer) settle(ctx context.Context, d Digest, sent bool, later time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), relayPatience) // a digest that was sent is settled even while the site stops
	defer cancel()
	_, err := call(ctx, m.calls, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, m.store.Settle(ctx, d, sent, later)
	})
	return err
}
