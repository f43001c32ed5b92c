package outagetest_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/internal/leak"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storetest"
)

// patience is how long a test waits for what should come at once.
const patience = storetest.Patience

func TestMain(m *testing.M) {
	if servers := os.Getenv(nodeEnv); servers != "" { // a child process of TestLinesOfAnOutage
		if err := runNode(servers); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	redis.SetLogger(storetest.Quiet{})
	leak.VerifyTestMain(m)
}

// noError ends a test at an error.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
