package pages_test

import (
	"testing"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/browse"
)

func TestMain(m *testing.M) { forumtest.Main(browse.Tests{M: m}, nil) }
