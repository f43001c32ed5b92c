package metrics_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/metrics"
)

func TestCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, err := presence.New(presence.NewMemoryStore(), presence.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer tracker.Close(t.Context())
		for _, topic := range []presence.Topic{presence.Site, "thread:1", "thread:2"} {
			c, err := tracker.Connect(t.Context(), presence.ConnectOptions{Visitor: presence.Visitor{User: presence.User{ID: "alice"}}, Topics: []presence.Topic{topic}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
		}
		time.Sleep(time.Second)
		collector := metrics.NewCollector(tracker)
		want := `
			# HELP presence_connections Live streams open on this node.
			# TYPE presence_connections gauge
			presence_connections 3
			# HELP presence_topics Topics kept current on this node, by the part before the colon.
			# TYPE presence_topics gauge
			presence_topics{kind="site"} 1
			presence_topics{kind="thread"} 2
			# HELP presence_users_online Visible users online in those topics.
			# TYPE presence_users_online gauge
			presence_users_online{kind="site"} 1
			presence_users_online{kind="thread"} 2
		`
		if err := testutil.CollectAndCompare(collector, strings.NewReader(want), "presence_connections", "presence_topics", "presence_users_online"); err != nil {
			t.Error(err)
		}
		problems, err := testutil.CollectAndLint(collector)
		if err != nil || len(problems) > 0 {
			t.Errorf("got %v, %v, want no problem with the names", problems, err)
		}
	})
}
