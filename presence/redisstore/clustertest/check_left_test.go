package clustertest_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storetest"
)

// A check leaves no key in a cluster.
func TestCheckLeavesNothing(t *testing.T) {
	t.Parallel()
	client := redistest.StartCluster(t, 2, 0).Client()
	if err := storetest.Check(t, client); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var left []string
	err := client.ForEachMaster(t.Context(), func(ctx context.Context, master *redis.Client) error {
		keys, err := master.Keys(ctx, "*").Result()
		mu.Lock()
		defer mu.Unlock()
		left = append(left, keys...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	left = slices.DeleteFunc(left, func(key string) bool { return !strings.Contains(key, ":check:") })
	if len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
