package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// SetNow gives the node another clock.
func (s *Store) SetNow(now func() time.Time) { s.clock.now = now }

// NewClock returns the read of a clock.
func NewClock(ask func(context.Context) (time.Time, error)) func(context.Context) (time.Duration, error) {
	c := &clock{now: time.Now, ask: ask}
	return c.read
}

// AddStep adds a migration, as the next version of this program may have it.
func (s *Store) AddStep(statements ...string) {
	next := len(s.steps) + 1
	s.steps = append(s.steps, Migration{Version: next, Name: fmt.Sprintf("%04d_next.sql", next), statements: statements})
}

// Rebind returns a statement as the dialect has it.
func (s *Store) Rebind(statement string) string {
	if s.dialect == SQLite {
		return parameter.ReplaceAllString(statement, "?$1")
	}
	return statement
}

// Text returns a statement.
func (s *Store) Text(name string) string { return s.texts[name] }

// Store and DB return where feeds are.
func (f *Feeds) Store() *Store { return &Store{database: f.db} }
func (s *Store) DB() *sql.DB   { return s.pool }

// Texts returns all statements, by the names of their files.
func (s *Store) Texts() map[string]string { return s.texts }

// Explain is explain.
var Explain = explain
