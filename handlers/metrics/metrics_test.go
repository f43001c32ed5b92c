package metrics_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/handlers/metrics"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/deliver"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/feed/feedtest"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// site returns a tracker in which something of everything has happened, for the
// inside of a synctest bubble.
func site(t *testing.T) *track.Tracker {
	tracker, err := track.New(memstore.New(), track.Config{MaxConnectionsPerUser: 3, Directory: presencetest.NewMemoryDirectory()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tracker.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	go func() { // ends with the tracker
		_ = tracker.Deliver(context.Background(), "mailer", []presence.Topic{presence.Site}, deliver.Options{}, func(context.Context, deliver.Event) error { return nil })
	}()
	alice := presence.Visitor{User: presence.User{ID: "alice"}}
	for _, topic := range []presence.Topic{presence.Site, "thread:1", "thread:2"} {
		connect(t, tracker, alice, topic)
	}
	if _, err := tracker.Connect(t.Context(), track.ConnectOptions{Visitor: alice, Topics: []presence.Topic{presence.Site}}); err == nil {
		t.Error("got a fourth connection of one user, want none")
	}
	gone := connect(t, tracker, presence.Visitor{User: presence.User{ID: "bob"}}, presence.Site)
	connect(t, tracker, presence.Visitor{Guest: "g"}, presence.Site)
	_ = tracker.Signal("thread:1", presence.Signal{Type: "replies"})
	_ = tracker.Signal("thread:1", presence.Signal{Type: "typing", From: "nobody", For: time.Second})
	if err := tracker.Whisper(t.Context(), alice, "thread:1", presence.Signal{Type: "typing"}); err != nil {
		t.Error(err)
	}
	gone.Close()
	time.Sleep(11 * time.Second) // the grace
	if _, err := tracker.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	time.Sleep(6 * time.Minute) // an age period
	if _, err := tracker.Age(t.Context()); err != nil {
		t.Error(err)
	}
	time.Sleep(time.Second)
	return tracker
}

func connect(t *testing.T, tracker *track.Tracker, v presence.Visitor, topic presence.Topic) *track.Connection {
	t.Helper()
	c, err := tracker.Connect(t.Context(), track.ConnectOptions{Visitor: v, Topics: []presence.Topic{topic}, Window: track.Window{Users: 20}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := values(t, metrics.NewCollector(site(t), nil))
		for name, want := range map[string]float64{
			"presence_connections{other}":                 4,
			"presence_connected_users":                    1,
			"presence_topics{site}":                       1,
			"presence_topics{thread}":                     2,
			"presence_users_online{site}":                 1,
			"presence_users_online{thread}":               2,
			"presence_guests{site}":                       1,
			"presence_windows":                            3, // one of each topic
			"presence_user_sessions":                      4, // alice three times, bob once
			"presence_sweeps_total":                       1,
			"presence_swept_leases_total":                 2, // bob's, and that of his device
			"presence_swept_leaves_total":                 2,
			"presence_refused_connections_total":          1,
			"presence_store_errors_total{apply}":          0,
			"presence_store_call_duration_seconds{sweep}": 1,
			"presence_store_out":                          0,
			"presence_signals_total{site}":                2,
			"presence_signals_total{visitor}":             1,
			"presence_signals_dropped_total{unseen}":      1,
			"presence_signals_dropped_total{rate}":        0,
			"presence_broadcasts_invalid_total":           0,
			"presence_devices":                            1, // alice's three connections are of one
			"presence_directory_out":                      0,
			"presence_directory_errors_total{saw}":        0,
			"presence_directory_errors_total{contacts}":   0,
		} {
			if got[name] != want {
				t.Errorf("%s: got %v, want %v", name, got[name], want)
			}
		}
		for _, name := range []string{"presence_rotations_total", "presence_diffs_received_total", "presence_diffs_published_total", "presence_store_call_duration_seconds{apply}", "presence_directory_call_duration_seconds{saw}", "presence_directory_call_duration_seconds{settings}"} {
			if got[name] == 0 {
				t.Errorf("%s: got 0, want more", name)
			}
		}
	})
}

// values returns what a scrape gives: of a histogram, the number of values.
func values(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	all := make(map[string]float64)
	for _, f := range gather(t, c) {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, label := range m.GetLabel() {
				name += "{" + label.GetValue() + "}"
			}
			all[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return all
}

func gather(t *testing.T, c prometheus.Collector) []*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(c); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// Each finding is a counter from the start, so that an alert sees the first one.
func TestFindings(t *testing.T) {
	tracker, err := track.New(memstore.New(), track.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer tracker.Close(context.Background())
	collector := metrics.NewCollector(tracker, nil)
	before := values(t, collector)
	tracker.Found(presence.WrongPrefix)
	tracker.Found(presence.WrongPrefix)
	after := values(t, collector)
	for _, f := range presence.Findings() {
		name := "presence_findings_total{" + f.String() + "}"
		want := 0.0
		if f == presence.WrongPrefix {
			want = 2
		}
		if got, ok := before[name]; got != 0 || !ok || after[name] != want {
			t.Errorf("%s: got %v (there: %v) and then %v, want 0 and then %v", name, got, ok, after[name], want)
		}
	}
}

var update = flag.Bool("update", false, "write testdata/families.txt anew")

// testdata/families.txt has what a scrape gives, in the order of families: names are kept. They are as
// Prometheus wants them.
func TestEveryMetric(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := site(t)
		collector := metrics.NewCollector(tracker, withFeeds(t, tracker))
		problems, err := testutil.CollectAndLint(collector)
		if err != nil || len(problems) > 0 {
			t.Errorf("got %v, %v, want no problem with the names", problems, err)
		}
		const file = "testdata/families.txt"
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := tableOf(t, collector)
		if *update {
			err = os.WriteFile(file, []byte(want), 0o666)
		} else if string(text) != want {
			err = errors.New("testdata/families.txt is stale: go generate ./handlers/metrics")
		}
		if err != nil {
			t.Error(err)
		}
	})
}

// tableOf returns a row for each family of a collector, in Markdown.
func tableOf(t *testing.T, collector prometheus.Collector) string {
	t.Helper()
	rows := make(map[string]string)
	for _, f := range gather(t, collector) {
		var labels []string
		for _, label := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, label.GetName())
		}
		name, help := f.GetName(), f.GetHelp()
		if len(labels) > 0 {
			name += "{" + strings.Join(labels, ",") + "}"
		}
		counter := f.GetType() == dto.MetricType_COUNTER
		if f.GetType() == dto.MetricType_HISTOGRAM {
			help = "Histogram. " + help
		} else if counter != strings.HasSuffix(f.GetName(), "_total") {
			t.Errorf("%s: got the type %v", name, f.GetType())
		}
		rows[f.GetName()] = fmt.Sprintf("| `%s` | %s |\n", name, help)
	}
	descs := make(chan *prometheus.Desc, 1_000)
	collector.Describe(descs)
	close(descs)
	table := "| metric | meaning |\n|---|---|\n"
	for desc := range descs {
		name := regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(desc.String())[1]
		if rows[name] == "" {
			t.Errorf("%s: a scrape lacks it", name)
		}
		table += rows[name]
	}
	return table
}

// A site whose topics have no kinds does not fill Prometheus with series, and a
// series keeps its meaning.
func TestKindsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, err := track.New(memstore.New(), track.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer tracker.Close(context.Background())
		collector := metrics.NewCollector(tracker, nil)
		look := func(topic presence.Topic) {
			if _, err := tracker.View(t.Context(), topic); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 40 {
			look(presence.Topic(fmt.Sprintf("room-%02d", i)))
		}
		values(t, collector)
		for i := range 500 {
			look(presence.Topic(fmt.Sprintf("a-%03d", i)))
		}
		look(presence.Site)
		got := values(t, collector)
		kinds := 0
		for name := range got {
			if strings.HasPrefix(name, "presence_topics{") {
				kinds++
			}
		}
		if kinds != 51 {
			t.Errorf("got %d kinds, want 50 and the others", kinds)
		}
		for name, want := range map[string]float64{"{site}": 1, "{room-39}": 1, "{a-000}": 1, "{a-499}": 0, "{other}": 491} {
			if got["presence_topics"+name] != want {
				t.Errorf("presence_topics%s: got %v, want %v", name, got["presence_topics"+name], want)
			}
		}
	})
}

// The cost of a scrape does not depend on the number of users.
func TestScrapeCostsTheSameForManyUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, err := track.New(memstore.New(), track.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer tracker.Close(context.Background())
		collector := metrics.NewCollector(tracker, nil)
		cost := func() float64 {
			return testing.AllocsPerRun(10, func() {
				out := make(chan prometheus.Metric, 1000)
				collector.Collect(out)
			})
		}
		if _, err := tracker.View(t.Context(), presence.Site); err != nil {
			t.Fatal(err)
		}
		few := cost()
		for i := range 10_000 {
			tracker.Seen(presence.Site, presence.User{ID: presence.UserID(fmt.Sprint("u", i))}, presence.Device{})
		}
		time.Sleep(time.Second)
		if users := tracker.Stats().Kinds["site"].Users; users != 10_000 {
			t.Fatalf("got %d users, want 10,000", users)
		}
		if many := cost(); many > few+10 {
			t.Errorf("got %v allocations for 10,000 users, want about the %v for none", many, few)
		}
	})
}

// BenchmarkScrape reads the figures of 10,000 topics with 100,000 users in them.
func BenchmarkScrape(b *testing.B) {
	tracker, err := track.New(memstore.New(), track.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer tracker.Close(context.Background())
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	for i := range 10_000 {
		topic := presence.Topic(fmt.Sprintf("thread:%d", i))
		if _, err := tracker.View(ctx, topic); err != nil {
			b.Fatal(err)
		}
		for j := range 10 {
			tracker.Seen(topic, presence.User{ID: presence.UserID(fmt.Sprintf("user%d", 10*i+j))}, presence.Device{})
		}
	}
	for tracker.Stats().Kinds["thread"].Users < 100_000 && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	collector := metrics.NewCollector(tracker, nil)
	for b.Loop() {
		out := make(chan prometheus.Metric, 1000)
		collector.Collect(out)
	}
}

// withFeeds returns a handler over a tracker with a Keeper of feeds, for the inside of a
// synctest bubble. The Keeper has moved a message, and given up another.
func withFeeds(t *testing.T, tracker *track.Tracker) *handlers.Handler {
	t.Helper()
	db := feedtest.NewMemory()
	keeper, err := feed.New(db, tracker, feed.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := keeper.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	handler := handlers.New(tracker, handlers.Config{Feeds: keeper})
	connect(t, tracker, presence.Visitor{User: presence.User{ID: "carol"}}, "inbox")
	for id, message := range map[string]string{
		"1": `{"to":["alice","bob"],"from":"bob","type":"reply","text":"hello"}`, "2": `{"to":`,
	} {
		if err := db.Insert(id, message); err != nil {
			t.Fatal(err)
		}
	}
	for range 12 {
		if _, err := keeper.Relay(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
	}
	return handler
}

func TestFeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := site(t)
		for name := range values(t, metrics.NewCollector(tracker, handlers.New(tracker, handlers.Config{}))) {
			if strings.HasPrefix(name, "presence_feed_") {
				t.Errorf("got %s of a site without feeds", name)
			}
		}
		got := values(t, metrics.NewCollector(tracker, withFeeds(t, tracker)))
		for name, want := range map[string]float64{
			"presence_feed_lines":                          1,
			"presence_feed_outbox_waiting":                 0,
			"presence_feed_outbox_given_up":                1,
			"presence_feed_relays_total":                   1,
			"presence_feed_items_moved_total":              1,
			"presence_feed_relay_failures_total{json}":     10,
			"presence_feed_relay_failures_total{database}": 0,
			"presence_feed_messages_dropped_total{self}":   1,
			"presence_feed_hints_sent_total":               1,
			"presence_feed_digests_total{put_off}":         0,
			"presence_feed_database_out":                   0,
		} {
			if value, ok := got[name]; value != want || !ok {
				t.Errorf("%s: got %v (there: %v), want %v", name, value, ok, want)
			}
		}
	})
}
