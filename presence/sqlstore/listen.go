package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
)

// A WaitFunc waits for a notification to a connection of PostgreSQL, and returns its payload. When ctx ends it
// returns an error, and the connection remains usable. database/sql has no such function, so it is one of the
// driver's. With pgx:
//
//	func wait(ctx context.Context, conn *sql.Conn) (payload string, err error) {
//		err = conn.Raw(func(c any) error {
//			n, err := c.(*stdlib.Conn).Conn().WaitForNotification(ctx)
//			if err == nil {
//				payload = n.Payload
//			}
//			return err
//		})
//		return payload, err
//	}
type WaitFunc func(ctx context.Context, conn *sql.Conn) (payload string, err error)

const (
	listenAgain = time.Second      // until the next try, after an error
	listenCheck = time.Minute      // between two checks whether notifications arrive
	listenBound = 10 * time.Second // how long one may take to arrive

	// PostgreSQL commits transactions that notify one after the other. While many come, Listen lets them go
	// without.
	listenMost = 50
	listenIn   = 5 * time.Second
	listenRest = time.Minute
)

// Listen makes [Store.DataVersion] notice what is committed in PostgreSQL, until ctx ends. So a fleet that
// rests makes no queries, and nothing is later than with them. It takes one connection for itself. While it
// cannot listen, for example because the database is out, everything is polled as without Listen. Run it in a
// goroutine of its own, in each process, after [Store.Migrate]. On SQLite it is a no-op, and returns at once.
//
// It needs a connection to PostgreSQL itself. Behind PgBouncer in transaction mode notifications get lost.
// Listen notices that, and everything is polled.
//
// While somebody listens, a trigger notifies of changes. Transactions that notify are committed one after the
// other in PostgreSQL. When more than ten of them come in a second, Listen has the trigger stop for a minute,
// and everything is polled meanwhile. A table of the site's own may have the trigger too:
//
//	CREATE TRIGGER … AFTER UPDATE ON … FOR EACH STATEMENT EXECUTE FUNCTION rollcall_changed()
func (s *database) Listen(ctx context.Context, next WaitFunc) {
	if s.dialect != Postgres {
		return
	}
	for {
		_ = s.listen(ctx, next) // the polls, which begin again, report what is wrong
		s.hear(false)
		if !wait.For(ctx, listenAgain) {
			return
		}
	}
}

// hear notes whether changes are heard of. What was committed before is no longer heard of, so the data counts
// as changed.
func (s *database) hear(hears bool) {
	s.signs.mu.Lock()
	s.signs.hears = hears
	s.signs.heard++
	s.signs.mu.Unlock()
}

// heard notes a notification.
func (s *database) heard() {
	s.signs.mu.Lock()
	s.signs.heard++
	s.signs.mu.Unlock()
}

// listen listens until something fails.
func (s *database) listen(ctx context.Context, next WaitFunc) error {
	conn, err := s.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer conn.Raw(func(any) error { return driver.ErrBadConn }) // nobody else gets a connection that listens
	l := &listener{database: s, conn: conn, next: next, id: rand.Text()}
	if err := s.exec(ctx, conn, "listen"); err != nil {
		return err
	}
	if err := l.check(ctx); err != nil { // before anybody notifies, for PgBouncer
		return err
	}
	for {
		if err := s.exec(ctx, conn, "listen_begin"); err != nil {
			return err
		}
		err := l.quiet(ctx)
		s.hear(false)
		if err != nil {
			return err
		}
		if err := s.exec(ctx, conn, "listen_end"); err != nil {
			return err
		}
		if !wait.For(ctx, listenRest) {
			return ctx.Err()
		}
	}
}

// A listener is a connection that listens.
type listener struct {
	*database
	conn *sql.Conn
	next WaitFunc
	id   string // the payload of its checks
}

// quiet listens until many notifications come, or something fails.
func (l *listener) quiet(ctx context.Context) error {
	if err := l.outlive(ctx); err != nil {
		return err
	}
	l.hear(true)
	checked, counted, n := time.Now(), time.Now(), 0
	for n < listenMost {
		err := l.until(ctx, checked.Add(listenCheck), func(string) bool {
			if n++; time.Since(counted) > listenIn {
				counted, n = time.Now(), 1
			}
			return n >= listenMost
		})
		if err != nil {
			return err
		}
		if time.Since(checked) >= listenCheck {
			if err := l.check(ctx); err != nil {
				return err
			}
			checked = time.Now()
		}
	}
	return nil
}

// outlive waits for the end of all transactions that may have changed something before this process listened,
// and so do not notify it.
func (l *listener) outlive(ctx context.Context) error {
	var ours, oldest int64
	if err := l.conn.QueryRowContext(ctx, l.texts["listen_ours"]).Scan(&ours); err != nil {
		return err
	}
	for {
		if err := l.conn.QueryRowContext(ctx, l.texts["listen_oldest"]).Scan(&oldest); err != nil || oldest > ours {
			return err
		}
		if !wait.For(ctx, listenAgain) {
			return ctx.Err()
		}
	}
}

// check sends a notification to itself, by another connection, and waits for it.
func (l *listener) check(ctx context.Context) error {
	bound, cancel := context.WithTimeout(ctx, listenBound)
	defer cancel()
	if err := l.exec(bound, l.pool, "listen_check", l.id); err != nil {
		return err
	}
	arrived := false
	err := l.until(ctx, time.Now().Add(listenBound), func(payload string) bool {
		arrived = payload == l.id
		return arrived
	})
	if err == nil && !arrived {
		err = errors.New("no notification arrives")
	}
	return err
}

// until calls each for every notification, until that returns true, or to a time. It leaves out those of other
// processes' checks.
func (l *listener) until(ctx context.Context, end time.Time, each func(payload string) bool) error {
	bound, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	for {
		payload, err := l.next(bound, l.conn)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && bound.Err() != nil:
			return nil
		case err != nil:
			return err
		case payload == "":
			l.heard()
			fallthrough
		case payload == l.id:
			if each(payload) {
				return nil
			}
		}
	}
}
