package hostile_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// truth is who is online: the readers that are users, and those of the writer's who
// have not left.
func (h *hostile) truth() map[string]bool {
	truth := make(map[string]bool)
	for _, r := range h.readers {
		if r.name != "" && r.reading() {
			truth[r.name] = true
		}
	}
	for _, name := range h.writer.here() {
		truth[name] = true
	}
	return truth
}

// converged waits until every reader, and a node, know who is online, and returns
// how long that took, and what is wrong at last.
func (h *hostile) converged(n *forumtest.Node, most time.Duration) (took time.Duration, wrong string) {
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		wrong = h.wrong(n)
		if took = time.Since(began); wrong == "" || took > most {
			return took, wrong
		}
	}
}

// wrong says what is not as it should be yet.
func (h *hostile) wrong(n *forumtest.Node) string {
	truth := h.truth()
	known := make(map[*forumtest.Roster]string)
	for i, r := range h.readers {
		if !r.reading() { // that is a fault of its own, and was noted
			continue
		}
		roster := r.currentRoster()
		difference, ok := known[roster]
		if !ok {
			difference = missingOrMore(roster.Users, truth)
			known[roster] = difference
		}
		if difference != "" {
			return fmt.Sprintf("the roster of reader %d of %d: %s", i, len(h.readers), difference)
		}
	}
	client := forumtest.BareClient{Addr: n.Addr, From: h.visitor.From, Wait: forumtest.Patience}
	defer client.Close()
	status, _, text, err := client.Do(http.MethodGet, "/presence/roster?topic=site&limit=1000", "", "")
	var body struct {
		Stale bool
		Users map[string]json.RawMessage
	}
	if err != nil || status != http.StatusOK || json.Unmarshal([]byte(text), &body) != nil || body.Stale {
		return fmt.Sprintf("the roster of the node: got %d, stale %v, error %v", status, body.Stale, err)
	}
	if difference := missingOrMore(body.Users, truth); difference != "" {
		return "the roster of the node: " + difference
	}
	return ""
}

func missingOrMore[V any](got map[string]V, want map[string]bool) string {
	var wrong []string
	for user := range want {
		if _, ok := got[user]; !ok {
			wrong = append(wrong, user+" is missing")
		}
	}
	for user := range maps.Keys(got) {
		// Where an attacker signed in and looked at a page, it is online.
		if !want[user] && !strings.HasPrefix(user, "mallory-") {
			wrong = append(wrong, fmt.Sprintf("%q is not online", user))
		}
	}
	slices.Sort(wrong)
	if n := len(wrong); n > 5 {
		wrong = append(wrong[:5], fmt.Sprintf("and %d more", n-5))
	}
	return strings.Join(wrong, ", ")
}

// memory is how much memory the forum's process has, in bytes.
func (h *hostile) memory() int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.node.Cmd.Process.Pid))
	if err != nil {
		h.t.Fatalf("the forum's process: %v", err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kilobytes, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.Atoi(kilobytes)
	if err != nil {
		h.t.Fatalf("the forum's process has ended: %v", err)
	}
	return n << 10
}

// forumCPU is how many seconds of CPU the forum's process has used.
func (h *hostile) forumCPU() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", h.node.Cmd.Process.Pid))
	if err != nil {
		h.t.Fatalf("the forum's process: %v", err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest) // from the third field on
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100
}

// redisCPU is how many seconds of CPU Redis has used.
func (h *hostile) redisCPU() float64 {
	info := h.db.Info(h.t.Context(), "cpu").Val()
	sum := 0.0
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			seconds, _ := strconv.ParseFloat(value, 64)
			sum += seconds
		}
	}
	return sum
}

// calm waits until the attackers' users have left, and the forum is at rest.
func (h *hostile) calm() {
	if took, wrong := h.converged(h.node, forumtest.Patience); wrong != "" {
		h.t.Errorf("%v after the attacks: %s", took, wrong)
	}
}

// settleTime is how long memory may take to come back after a long run: the
// collector runs every two minutes where little is allocated, and gives back slowly.
const settleTime = 3 * time.Minute

// settles waits until the forum's memory is what it was before. Ordinary traffic
// goes on meanwhile.
func (h *hostile) settles(before int, long bool) {
	if forumtest.Raced {
		h.t.Log("memory is not judged under the race detector")
		return
	}
	within := settleTime
	if !long {
		within = forumtest.Patience
	}
	began, most := time.Now(), h.memory()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		h.writer.run(stop)
	}()
	now := most
	for ; now > before+mostMemory && time.Since(began) < within; now = h.memory() {
		time.Sleep(100 * time.Millisecond)
	}
	close(stop)
	<-stopped
	h.t.Logf("memory: %d MB before, %d MB at the end of the attacks, %d MB %v later", before>>20, most>>20, now>>20, time.Since(began).Round(time.Second))
	if now > before+mostMemory {
		h.t.Errorf("memory: got %d MB %v after the attacks, want at most %d MB", now>>20, within, (before+mostMemory)>>20)
	}
}
