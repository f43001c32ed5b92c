package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
)

// A Dialect is the SQL that a database speaks.
type Dialect string

// The dialects.
const (
	SQLite   Dialect = "sqlite"   // SQLite 3.38 or later
	Postgres Dialect = "postgres" // PostgreSQL 12 or later, and databases that are compatible with it
)

// Config configures a [Store].
type Config struct {
	// Dialect is the database's. It is required, because a *sql.DB does not tell it.
	Dialect Dialect

	// Prefix begins the names of tables and indexes: up to 32 bytes of a-z, 0-9 and _. Default: "rollcall_".
	Prefix string

	// Schema is the schema of the tables: up to 32 bytes of a-z, 0-9 and _. You have created it; Migrate
	// does not. Only PostgreSQL has schemas. Default: that of the connection's search_path.
	Schema string
}

// validate returns every problem at once.
func (c Config) validate() error {
	var problems []error
	if c.Dialect != SQLite && c.Dialect != Postgres {
		problems = append(problems, fmt.Errorf("the Dialect %q is neither sqlstore.SQLite nor sqlstore.Postgres", c.Dialect))
	}
	for field, name := range map[string]string{"Prefix": c.Prefix, "Schema": c.Schema} {
		if !validName.MatchString(name) {
			problems = append(problems, fmt.Errorf("the %s %q is not of up to 32 bytes of a-z, 0-9 and _, without a digit at the beginning", field, name))
		}
	}
	if c.Dialect == SQLite && c.Schema != "" {
		problems = append(problems, errors.New("the Schema is set, and SQLite has none"))
	}
	return errors.Join(problems...)
}

// A Store keeps people and feeds in a database, of all tenants: the column tenant separates them. All methods
// may be called concurrently.
type Store struct {
	*database
	steps []Migration
	feeds *Feeds
}

// New returns a Store on a database that the site has opened, with the driver of its
// choice, and closes itself. It does not connect: call [Store.Migrate] before anything
// else. It returns [presence.ErrInvalidConfig] with every problem.
func New(db *sql.DB, config Config) (*Store, error) {
	problems := config.validate()
	if db == nil {
		problems = errors.Join(errors.New("db is nil"), problems)
	}
	if problems != nil {
		return nil, fmt.Errorf("sqlstore: %w: %w", presence.ErrInvalidConfig, problems)
	}
	s := &Store{database: &database{pool: db, dialect: config.Dialect, writing: wait.NewMutex()}}
	s.feeds = newFeeds(s.database)
	var err error
	if s.texts, s.steps, err = config.load(); err != nil {
		return nil, err
	}
	s.clock.now = time.Now
	s.signs.began = time.Now()
	if config.Dialect == Postgres { // SQLite has the clock of this machine
		s.clock.ask = s.databaseNow
	}
	return s, nil
}

// Ping returns an error if the database cannot be reached.
func (s *Store) Ping(ctx context.Context) error { return s.pool.PingContext(ctx) }

// People returns the site's people: a [presence.Directory], for track.Config.Directory.
func (s *Store) People() *People { return &People{contacts: &contacts{s.database}, db: s.database} }

// Feeds returns the site's inboxes and rooms: a feed.Store, for feed.New.
func (s *Store) Feeds() *Feeds { return s.feeds }
