// Package operations holds examples/operations against forums that run: a real
// Prometheus scrapes them while they are used, and while they have faults.
package operations_test

import (
	"testing"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

func TestMain(m *testing.M) { forumtest.Main(m, nil) }
