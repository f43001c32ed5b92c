// Package storeclock is for tests: it gives a redisstore.Store a clock of their own.
package storeclock

import (
	"time"

	"github.com/redis/go-redis/v9"
)

// A Client makes the Store that is opened on it take the time from Now, and not from the server.
type Client struct {
	redis.UniversalClient
	Now func() time.Time
}
