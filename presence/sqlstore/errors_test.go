package sqlstore_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// What PostgreSQL says behind PgBouncer in transaction mode comes with its cure, and no other error does.
func TestPgBouncerIsNamed(t *testing.T) {
	for code, named := range map[string]bool{"42P05": true, "26000": true, "42P01": false} {
		err := sqlstore.Explain(&pgconn.PgError{Code: code})
		if got := strings.Contains(err.Error(), "default_query_exec_mode=exec"); got != named || !errors.As(err, new(*pgconn.PgError)) {
			t.Errorf("%s: got %v, want the cure: %v", code, err, named)
		}
	}
	if err := sqlstore.Explain(nil); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}
