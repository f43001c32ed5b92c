package minute

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
)

// A Log logs each text at most once a minute. It may be used concurrently.
type Log struct {
	To *slog.Logger

	gates sync.Map // *Gate by text: texts are constants of the program
}

func (l *Log) passes(text string) bool {
	gate, _ := l.gates.LoadOrStore(text, new(Gate))
	return gate.(*Gate).Pass()
}

// Warn logs a warning.
func (l *Log) Warn(text string, attrs ...any) {
	if l.passes(text) {
		l.To.Warn(text, attrs...)
	}
}

// Error logs an error.
func (l *Log) Error(text string, attrs ...any) {
	if l.passes(text) {
		l.To.Error(text, attrs...)
	}
}

// Panicked logs a panic with the stack of the calling goroutine. Call it in the deferred function that
// recovered the panic: there the stack still shows where it happened. A logger that panics too is ignored.
func (l *Log) Panicked(text string, value any, attrs ...any) {
	defer func() { _ = recover() }()
	l.Error(text, append(attrs, slog.String("panic", fmt.Sprint(value)), slog.String("stack", string(debug.Stack())))...)
}

// Guard recovers a panic, and logs it. Defer it: the function then returns the values that its results had before
// the call that panicked.
func (l *Log) Guard(text string, attrs ...any) {
	if p := recover(); p != nil {
		l.Panicked(text, p, attrs...)
	}
}
