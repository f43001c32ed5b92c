package redisstore

import (
	"strings"
	"testing"
)

// Whatever stands in a channel or a key, it is read or refused.
func FuzzDiff(f *testing.F) {
	f.Add("1-0", "0 1 0\n+alice"+unit+`1763721600000 online {"n":"Alice"}`)
	f.Add("2-0", "1-0 1 1\n1763721600000\nalice\n~bob"+unit+`1763721600000 away {}`)
	f.Add("3-0", "2-0 -1 9223372036854775807\n")
	f.Add("4-0", "2-0 1 2\n1\n")
	f.Add("5-0", "4-0 1 4611686018427387904\n1\n") // twice that is less than nothing
	f.Fuzz(func(t *testing.T, id, text string) {
		d, err := decodeDiff(id, text)
		if n := strings.Count(text, "\n"); err == nil && len(d.Joins)+len(d.Updates)+len(d.Leaves) > n {
			t.Errorf("got %d changes out of %d lines", len(d.Joins)+len(d.Updates)+len(d.Leaves), n)
		}
		if m, err := decodeRecord(id, text); err == nil && string(m.ID) != id {
			t.Errorf("got a record of %q, want of %q", m.ID, id)
		}
	})
}
