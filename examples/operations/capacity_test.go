package operations_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// A site is what CAPACITY.md counts for.
type site struct {
	users, guests  float64 // with a page open
	nodes, threads float64 // threads that are shown at a moment, at each node
}

const (
	visit   = 600.0 // seconds that a user stays
	pages   = 60.0  // seconds from one page to the next
	perUser = 2.0   // topics: the site and a thread
)

// needs are the formulae of CAPACITY.md, with its units in µs, KB and bytes.
func (s site) needs() (cores, memoryMB, redisCores, redisMB, commands float64) {
	changes := 2 * s.users / visit
	events := min(changes, 20)
	if s.users > 10_000 {
		events = 1
	}
	streams := s.users + s.guests
	cores = (events*streams*3 + s.users/20*50 + s.users/pages*210 + s.guests/pages*67) / 1e6
	memoryMB = (streams*6.5 + s.nodes*min(s.users, 10_000)*0.35) / 1e3
	commands = s.nodes * (7 + (1+s.threads)/30)
	redisCores = (s.users*perUser/15*2.4 + (changes+s.users/pages*2)*5 + 2*s.nodes*(1+s.threads)*6) / 1e6
	redisMB = (s.users*perUser*280 + max(100_000, s.users)*112) / 1e6
	return cores, memoryMB, redisCores, redisMB, commands
}

// The table of CAPACITY.md is what its formulae give.
func TestCapacity(t *testing.T) {
	page := read(t, "CAPACITY.md")
	for _, s := range []site{{100, 100, 1, 10}, {1_000, 1_000, 2, 50}, {10_000, 10_000, 2, 300}, {100_000, 100_000, 8, 1_000}} {
		cores, memory, redisCores, redisMB, commands := s.needs()
		row := fmt.Sprintf("| %s | %s | %.0f | %s | %s | %s | %s | %s | %s |", whole(s.users), whole(s.guests), s.nodes, whole(s.threads),
			two(cores), whole(memory), whole(commands), two(redisCores), whole(redisMB))
		if !strings.Contains(page, row) {
			t.Errorf("CAPACITY.md lacks\n%s", row)
		}
	}
}

// two returns a number with two digits that count.
func two(x float64) string {
	if x < 0.01 {
		return "under 0.01"
	}
	return fmt.Sprintf("%.*f", max(0, 1-int(math.Floor(math.Log10(x)))), x)
}

func whole(x float64) string {
	text := fmt.Sprintf("%.0f", x)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
