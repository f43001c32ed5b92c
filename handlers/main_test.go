package handlers_test

import (
	"testing"

	"github.com/rollcall-go/rollcall/internal/leak"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }
