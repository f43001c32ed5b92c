package feed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

const (
	sendAtOnce = 8                // calls of send under way
	sendBound  = 30 * time.Second // then a call counts as failed
)

var errMailHangs = errors.New("the mail before has not returned yet")

// mails calls the site's function that sends a mail. A call that does not return in time keeps its place
// until it does, and no other mail to its user is sent meanwhile. So a mail server that hangs for one user
// takes one place of a node.
type mails struct {
	places chan struct{}

	mu sync.Mutex
	to map[presence.UserID]struct{} // users to whom a mail is being sent
}

func newMails() *mails {
	return &mails{places: make(chan struct{}, sendAtOnce), to: make(map[presence.UserID]struct{})}
}

// send calls send in a goroutine of its own, and waits for it for sendBound at most.
func (m *mails) send(ctx context.Context, d Digest, send func(context.Context, Digest) error) error {
	ctx, cancel := context.WithTimeout(ctx, sendBound)
	defer cancel()
	user := d.User.In(d.Tenant)
	if !m.begin(user) {
		return errMailHangs
	}
	select {
	case m.places <- struct{}{}:
	case <-ctx.Done():
		m.end(user)
		return fmt.Errorf("%d mails hang: %w", sendAtOnce, ctx.Err())
	}
	sent := make(chan error, 1)
	go func() {
		err := sendSafely(ctx, d, send)
		m.end(user)
		<-m.places
		sent <- err
	}()
	select {
	case err := <-sent:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begin notes that a mail to a user is being sent, and returns false if one is already.
func (m *mails) begin(user presence.UserID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, hangs := m.to[user]; hangs {
		return false
	}
	m.to[user] = struct{}{}
	return true
}

func (m *mails) end(user presence.UserID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.to, user)
}

func sendSafely(ctx context.Context, d Digest, send func(context.Context, Digest) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return send(ctx, d)
}
