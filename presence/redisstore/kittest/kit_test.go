package kittest_test

import (
	"testing"

	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storetest"
)

// TestStore holds the store on Redis or Valkey against the rules of backend.Store.
func TestStore(t *testing.T) { storetest.Kit(t, storetest.Standalone, storetest.Valkey) }
