package hostile_test

import (
	"testing"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

func TestMain(m *testing.M) { forumtest.Main(m, nil) }
