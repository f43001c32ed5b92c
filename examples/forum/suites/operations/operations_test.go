package operations_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// onlyBySeries are the rules whose fault no test can cause in a running forum. The unit
// tests in alerts_test.yml hold them, and the durations of all.
var onlyBySeries = []string{"PresenceScreenLag"}

// slowness are the alerts that a machine without time causes by itself.
var slowness = []string{"PresenceStoreOut", "PresenceStoreSlow", "PresenceScreenLag", "PresenceNotSwept"}

// Every rule fires on its fault and on no other, and none on a fleet that is only used.
// Every query of the dashboard has data.
func TestOperations(t *testing.T) {
	all := fleets(t)
	prom := startPrometheus(t, all)
	meter, began := newStallMeter(), time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	defer busy.Wait()
	defer cancel()
	for _, f := range all {
		for _, node := range f.nodes {
			busy.Go(func() { use(ctx, node) })
		}
		if f.fault != nil {
			busy.Go(func() {
				sleep(ctx, 2*time.Second)
				f.fault(ctx)
			})
		}
	}

	fired := make(map[string][]string)
	missing := func() (rest []string) {
		for job, names := range prom.firing() {
			for _, name := range names {
				if !slices.Contains(fired[job], name) {
					t.Logf("%s: %s fires after %v", job, name, time.Since(began).Round(time.Second))
				}
			}
			fired[job] = append(fired[job], names...)
			slices.Sort(fired[job])
			fired[job] = slices.Compact(fired[job])
		}
		for _, f := range all {
			for _, name := range f.want {
				if !slices.Contains(fired[f.name], name) {
					rest = append(rest, f.name+": "+name)
				}
			}
		}
		return rest
	}
	for deadline := time.Now().Add(4 * forumtest.Patience); len(missing()) > 0; time.Sleep(500 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("did not fire: %v", missing())
			break
		}
	}
	stalled := meter.end()
	for _, f := range all {
		for _, name := range fired[f.name] {
			switch {
			case slices.Contains(f.want, name):
			case stalled > 0.02 && slices.Contains(slowness, name):
				t.Logf("%s: %s fired, on a machine that stalled for %.0f %% of the time", f.name, name, 100*stalled)
			default:
				t.Errorf("%s: %s fired, want %v alone", f.name, name, f.want)
			}
		}
	}

	covered := slices.Clone(onlyBySeries)
	for _, f := range all {
		covered = append(covered, f.want...)
	}
	slices.Sort(covered)
	if rules := slices.Sorted(slices.Values(prom.rules())); !slices.Equal(rules, covered) {
		t.Errorf("the rules are %v, and the faults are of %v", rules, covered)
	}
	wantData(t, prom, "quiet")
}

// wantData asks each query of the dashboard about a fleet.
func wantData(t *testing.T, prom *prometheus, job string) {
	t.Helper()
	text, err := os.ReadFile(operations + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	variables := strings.NewReplacer("$__rate_interval", "10s", "$job", job, "$node", ".*")
	queries, deadline := 0, time.Now().Add(forumtest.Patience)
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries++
			var samples []sample
			hasData := func() bool {
				var err error
				if samples, err = prom.query(variables.Replace(target.Expr)); err != nil {
					t.Fatal(err)
				}
				return slices.ContainsFunc(samples, func(s sample) bool { return !math.IsNaN(s.value) })
			}
			for ; !hasData(); time.Sleep(500 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Errorf("%s: %s has no data: %v", panel.Title, target.Expr, samples)
					break
				}
			}
		}
	}
	if len(dashboard.Panels) != 15 || queries < 45 {
		t.Errorf("got %d panels with %d queries, want 15 with 45 or more", len(dashboard.Panels), queries)
	}
}
