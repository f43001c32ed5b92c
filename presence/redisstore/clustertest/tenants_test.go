package clustertest_test

import (
	"testing"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storetest"
)

// The topics of a tenant have hash tags like any other.
func TestTenants(t *testing.T) {
	t.Parallel()
	storetest.Tenants(t, redistest.StartCluster(t, 1, 0).Client())
}
