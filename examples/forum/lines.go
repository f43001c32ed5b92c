package main

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// maxLogged is how many bytes of a visitor's text are logged, such as of a path.
const maxLogged = 100

// onceAMinute returns a logger for lines that every request may cause. It logs each message once a minute,
// with the number of repetitions since.
func onceAMinute(log *slog.Logger) *slog.Logger {
	return slog.New(minutely{log.Handler(), &lines{byMessage: make(map[string]*line)}})
}

// A minutely is the handler of a logger from onceAMinute. Its messages are constants, so there are few.
type minutely struct {
	slog.Handler
	lines *lines
}

type lines struct {
	mu        sync.Mutex
	byMessage map[string]*line
}

type line struct {
	last time.Time // when the message was last logged
	left int       // repetitions since
}

// pass reports whether a message may be logged, and how many repetitions were left out before it.
func (l *lines) pass(message string, now time.Time) (left int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	is := l.byMessage[message]
	if is == nil {
		is = new(line)
		l.byMessage[message] = is
	}
	if now.Sub(is.last) < time.Minute {
		is.left++
		return 0, false
	}
	left, *is = is.left, line{last: now}
	return left, true
}

// Handle implements slog.Handler.
func (m minutely) Handle(ctx context.Context, r slog.Record) error {
	left, ok := m.lines.pass(r.Message, r.Time)
	if !ok {
		return nil
	}
	short := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		if text := a.Value; text.Kind() == slog.KindString && len(text.String()) > maxLogged {
			a.Value = slog.StringValue(strings.ToValidUTF8(text.String()[:maxLogged], "") + "…")
		}
		short.AddAttrs(a)
		return true
	})
	if left > 0 {
		short.AddAttrs(slog.Int("left_out", left))
	}
	return m.Handler.Handle(ctx, short)
}

// WithAttrs implements slog.Handler.
func (m minutely) WithAttrs(attrs []slog.Attr) slog.Handler {
	return minutely{m.Handler.WithAttrs(attrs), m.lines}
}

// WithGroup implements slog.Handler.
func (m minutely) WithGroup(name string) slog.Handler {
	return minutely{m.Handler.WithGroup(name), m.lines}
}

// hungUp reports whether the reader of a page has gone. An error after that is nobody's fault.
func hungUp(c echo.Context) bool { return c.Request().Context().Err() != nil }
