package redisstore_test

import (
	"testing"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storetest"
)

func TestTenants(t *testing.T) {
	t.Parallel()
	storetest.Tenants(t, redistest.Start(t).Client())
}
