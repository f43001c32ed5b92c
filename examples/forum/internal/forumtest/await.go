package forumtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// Roster returns the site's roster. It has no users if it cannot be read.
func (v *Visitor) Roster() (e Event) {
	v.T.Helper()
	if res := v.Get("/presence/roster?topic=site"); res.Status == http.StatusOK {
		if err := json.Unmarshal([]byte(res.Body), &e); err != nil {
			v.T.Fatal(err)
		}
	}
	return e
}

func Await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > Patience {
			t.Fatalf("waited %v for %s", Patience, what)
		}
	}
}

// Kill kills the process of a node.
func (f *Forum) Kill(t *testing.T) {
	t.Helper()
	if err := f.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-f.rest
	_ = f.cmd.Wait()
}

// At returns the same browser at another node.
func (v *Visitor) At(f *Forum) *Visitor { return &Visitor{T: v.T, URL: f.URL, Client: v.Client} }

var connectionsOpen = regexp.MustCompile(`(?m)^presence_connections\{transport="(\w+)"\} (\d+)`)

// connections returns how many streams the forum has open, by transport.
func (f *Forum) connections(t *testing.T) map[string]int {
	t.Helper()
	open := make(map[string]int)
	for _, found := range connectionsOpen.FindAllStringSubmatch(f.Visitor(t).Get("/metrics").Body, -1) {
		if n, _ := strconv.Atoi(found[2]); n > 0 {
			open[found[1]] = n
		}
	}
	return open
}

// WantConnections waits until the forum has the wanted streams open.
func (f *Forum) WantConnections(t *testing.T, want string) {
	t.Helper()
	var got string
	for deadline := time.Now().Add(Patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if got = fmt.Sprint(f.connections(t)); got == want {
			return
		}
	}
	t.Fatalf("streams open: got %s, want %s", got, want)
}
