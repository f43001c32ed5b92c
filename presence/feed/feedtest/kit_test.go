package feedtest_test

import (
	"testing"

	"github.com/rollcall-go/rollcall/presence/feed/feedtest"
)

var memory = feedtest.Harness{New: func(testing.TB) feedtest.Site { return feedtest.NewMemory().Site() }}

func TestRules(t *testing.T) { feedtest.Run(t, memory) }

func TestModel(t *testing.T) { feedtest.Model(t, memory) }

func TestFaults(t *testing.T) { feedtest.Faults(t, memory) }
