package operations_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/internal/need"
)

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// maxAlerts bounds the alerts, so that somebody who is called at night knows them: nine of
// presence, and one each of the two things beside the store that may be out, the Directory and
// the database of feeds.
const maxAlerts = 11

var alertNames = regexp.MustCompile(`(?m)^ +- alert: (\w+)$`)

// Each alert has an address in the runbook, and there a section that says what it means and
// what to do.
func TestRunbook(t *testing.T) {
	rules, runbook := read(t, "alerts.yml"), read(t, "RUNBOOK.md")
	alerts := strings.Split(rules, "- alert: ")[1:]
	if len(alerts) == 0 || len(alerts) > maxAlerts {
		t.Errorf("got %d alerts, want 1 to %d", len(alerts), maxAlerts)
	}
	for _, alert := range alerts {
		name, _, _ := strings.Cut(alert, "\n")
		url := "https://github.com/rollcall-go/rollcall/blob/main/examples/operations/RUNBOOK.md#" + strings.ToLower(name)
		if !strings.Contains(alert, "runbook_url: "+url+"\n") {
			t.Errorf("%s: its runbook_url is not %s", name, url)
		}
		for _, field := range []string{"severity: ", "summary: ", "description: "} {
			if !strings.Contains(alert, " "+field) {
				t.Errorf("%s has no %s", name, field)
			}
		}
		_, section, ok := strings.Cut(runbook, "\n## "+name+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		if !ok || !strings.Contains(section, "**What it means.**") || !strings.Contains(section, "**What to do.**") {
			t.Errorf("%s: the runbook does not say what it means and what to do", name)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^## (\w+)$`).FindAllStringSubmatch(runbook, -1) {
		if !strings.Contains(rules, "- alert: "+m[1]+"\n") {
			t.Errorf("the runbook has a section for %s, which is no alert", m[1])
		}
	}
}

// Every metric that the files name is there.
func TestMetricsExist(t *testing.T) {
	listed := read(t, "../../handlers/metrics/testdata/families.txt")
	names := regexp.MustCompile(`presence_[a-z_]+[a-z]`)
	for _, file := range []string{"dashboard.json", "alerts.yml", "alerts_test.yml", "RUNBOOK.md", "CAPACITY.md", "README.md"} {
		for _, name := range names.FindAllString(read(t, file), -1) {
			bare := strings.TrimSuffix(name, "_bucket")
			if !strings.Contains(listed, "| `"+bare+"`") && !strings.Contains(listed, "| `"+bare+"{") {
				t.Errorf("%s: there is no metric %s", file, name)
			}
		}
	}
}

// promtool finds the rules in order, and they fire when they should.
func TestPromtool(t *testing.T) {
	promtool := need.Program(t, "prometheus", "promtool")
	for _, args := range [][]string{{"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
	tests := read(t, "alerts_test.yml")
	for _, m := range alertNames.FindAllStringSubmatch(read(t, "alerts.yml"), -1) {
		if !strings.Contains(tests, `alertname="`+m[1]+`"`) {
			t.Errorf("%s has no unit test", m[1])
		}
	}
}

// units are those of Grafana that the dashboard uses.
var units = []string{"short", "s", "ops", "Bps", "bytes"}

// The dashboard has fifteen panels that say what they show, and the variables that its
// queries use.
func TestDashboard(t *testing.T) {
	type place struct{ H, W, X, Y int }
	var d struct {
		Panels []struct {
			ID                       int
			Type, Title, Description string
			GridPos                  place
			Datasource               struct{ UID string }
			FieldConfig              struct{ Defaults struct{ Unit string } }
			Targets                  []struct{ RefID, Expr, LegendFormat string }
		}
		Templating struct {
			List []struct{ Name, Type, Definition string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "dashboard.json")), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Panels) != 15 {
		t.Errorf("got %d panels, want 15", len(d.Panels))
	}
	taken := make(map[place]bool)
	ids := make(map[int]bool)
	for _, p := range d.Panels {
		if p.Title == "" || len(p.Description) < 40 || !slices.Contains(units, p.FieldConfig.Defaults.Unit) || p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
			t.Errorf("panel %q: wants a title, a description, a unit of %v, the variable data source and queries", p.Title, units)
		}
		if at := p.GridPos; taken[at] || ids[p.ID] || at.W != 8 || at.H != 8 || at.X%8 != 0 || at.X > 16 || at.Y%8 != 0 {
			t.Errorf("panel %q, %d: it does not lie in the grid alone: %+v", p.Title, p.ID, at)
		}
		taken[p.GridPos], ids[p.ID] = true, true
		for _, q := range p.Targets {
			if q.LegendFormat == "" || !strings.Contains(q.Expr, `job=~"$job"`) || !strings.Contains(q.Expr, `instance=~"$node"`) {
				t.Errorf("panel %q: %s wants a legend, and the variables $job and $node", p.Title, q.Expr)
			}
		}
	}
	var variables []string
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name)
	}
	if !slices.Equal(variables, []string{"datasource", "job", "node"}) {
		t.Errorf("got the variables %v, want datasource, job and node", variables)
	}
}
