package clustertest_test

import (
	"testing"

	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storetest"
)

// TestStore holds the store on a cluster against the rules of backend.Store.
func TestStore(t *testing.T) { storetest.Kit(t, storetest.OneNodeCluster, storetest.Cluster) }
