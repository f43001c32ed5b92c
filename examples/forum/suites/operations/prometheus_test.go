package operations_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/bound"
	"github.com/rollcall-go/rollcall/internal/need"
)

const operations = "../../../operations/"

// A prometheus is a running one that has the alert rules, with their times divided by
// hurry.
type prometheus struct {
	t   *testing.T
	url string
}

// hurry divides the durations of rules, so that a minute of a fault takes two seconds.
const hurry = 30

var minutes = regexp.MustCompile(`(for: |\[)(\d+)m\b`)

// hurried returns rules with every duration divided by hurry, and nothing else changed.
func hurried(rules string) string {
	return minutes.ReplaceAllStringFunc(rules, func(found string) string {
		m := minutes.FindStringSubmatch(found)
		n, _ := strconv.Atoi(m[2])
		return fmt.Sprintf("%s%ds", m[1], n*60/hurry)
	})
}

// startPrometheus starts a Prometheus that scrapes each of some fleets every two seconds.
func startPrometheus(t *testing.T, fleets []*fleet) *prometheus {
	t.Helper()
	program := need.Program(t, "prometheus", "prometheus")
	rules, err := os.ReadFile(operations + "alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var config strings.Builder
	config.WriteString("global: {scrape_interval: 2s, scrape_timeout: 2s, evaluation_interval: 1s}\nrule_files: [alerts.yml]\nscrape_configs:\n")
	for _, f := range fleets {
		fmt.Fprintf(&config, "  - job_name: %s\n    static_configs: [{targets: [", f.name)
		for i, node := range f.nodes {
			if i > 0 {
				config.WriteString(", ")
			}
			fmt.Fprintf(&config, "'%s'", strings.TrimPrefix(node.URL, "http://"))
		}
		config.WriteString("]}]\n")
	}
	for name, text := range map[string]string{"alerts.yml": hurried(string(rules)), "prometheus.yml": config.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	addr := need.FreeAddr(t)
	var log bytes.Buffer
	cmd := bound.To(exec.Command(program, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+addr, "--log.level=warn"), syscall.SIGKILL)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("prometheus said:\n%s", &log)
		}
	})
	p := &prometheus{t: t, url: "http://" + addr}
	forumtest.Await(t, "Prometheus", func() bool {
		res, err := http.Get(p.url + "/-/ready")
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	return p
}

// A sample is one of the answer to a query.
type sample struct {
	labels map[string]string
	value  float64
}

// query returns the samples that an expression has now.
func (p *prometheus) query(expr string) ([]sample, error) {
	res, err := http.Get(p.url + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || answer.Status != "success" {
		return nil, fmt.Errorf("%s: %s %s (%v)", expr, answer.Status, answer.Error, err)
	}
	var samples []sample
	for _, r := range answer.Data.Result {
		text, _ := r.Value[1].(string)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, err
		}
		samples = append(samples, sample{r.Metric, v})
	}
	return samples, nil
}

// firing returns the alerts that fire now, by fleet.
func (p *prometheus) firing() map[string][]string {
	p.t.Helper()
	samples, err := p.query(`ALERTS{alertstate="firing"}`)
	if err != nil {
		p.t.Fatal(err)
	}
	firing := make(map[string][]string)
	for _, s := range samples {
		firing[s.labels["job"]] = append(firing[s.labels["job"]], s.labels["alertname"])
	}
	return firing
}

// rules returns the names of all alert rules, as Prometheus has read them.
func (p *prometheus) rules() (names []string) {
	p.t.Helper()
	res, err := http.Get(p.url + "/api/v1/rules?type=alert")
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct {
		Data struct {
			Groups []struct{ Rules []struct{ Name string } }
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		p.t.Fatal(err)
	}
	for _, g := range answer.Data.Groups {
		for _, r := range g.Rules {
			names = append(names, r.Name)
		}
	}
	return names
}

// A stallMeter says which part of the time this machine had none for the test.
type stallMeter struct {
	began   time.Time
	stalled chan time.Duration
	stop    chan struct{}
}

func newStallMeter() *stallMeter {
	m := &stallMeter{time.Now(), make(chan time.Duration, 1), make(chan struct{})}
	go func() {
		var sum time.Duration
		const step, tolerable = 20 * time.Millisecond, 100 * time.Millisecond
		for {
			before := time.Now()
			select {
			case <-m.stop:
				m.stalled <- sum
				return
			case <-time.After(step):
			}
			if late := time.Since(before) - step; late > tolerable {
				sum += late
			}
		}
	}()
	return m
}

// end returns the part of the time in which the machine stalled.
func (m *stallMeter) end() float64 {
	close(m.stop)
	return float64(<-m.stalled) / float64(time.Since(m.began))
}
