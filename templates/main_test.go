package templates_test

import (
	"os"
	"testing"

	"github.com/rollcall-go/rollcall/internal/browse"
)

func TestMain(m *testing.M) { os.Exit(browse.Tests{M: m}.Run()) }
