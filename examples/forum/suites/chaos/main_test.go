package chaos_test

import (
	"testing"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/pgtest"
)

func TestMain(m *testing.M) { forumtest.Main(pgtest.Main(m), nil) }
