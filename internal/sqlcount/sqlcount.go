// Package sqlcount counts the statements that a test sends to a database.
package sqlcount

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
	"testing"
)

// A Counter has the statements that a database got. It may be used concurrently.
type Counter struct {
	dsn    string
	driver driver.Driver

	mu         sync.Mutex
	statements []string
}

// Open opens a database whose statements are counted. It is closed when the test ends.
func Open(t testing.TB, driverName, dsn string) (*sql.DB, *Counter) {
	t.Helper()
	plain, err := sql.Open(driverName, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	c := &Counter{dsn: dsn, driver: plain.Driver()}
	db := sql.OpenDB(c)
	t.Cleanup(func() { db.Close() })
	return db, c
}

// Take returns the statements since the last call.
func (c *Counter) Take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	statements := c.statements
	c.statements = nil
	return statements
}

// Connect implements [driver.Connector].
func (c *Counter) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	return &Conn{conn, c}, nil
}

// Driver implements [driver.Connector].
func (c *Counter) Driver() driver.Driver { return c.driver }

// A Conn is a connection whose statements are counted. database/sql prepares each of them, because it has no
// other methods.
type Conn struct {
	driver.Conn
	of *Counter
}

// PrepareContext implements [driver.ConnPrepareContext].
func (c *Conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	c.of.mu.Lock()
	c.of.statements = append(c.of.statements, query)
	c.of.mu.Unlock()
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
}

// BeginTx implements [driver.ConnBeginTx].
func (c *Conn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, options)
}
