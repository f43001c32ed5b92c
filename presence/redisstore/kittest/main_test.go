package kittest_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/internal/leak"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storetest"
)

func TestMain(m *testing.M) {
	redis.SetLogger(storetest.Quiet{})
	leak.VerifyTestMain(m)
}
