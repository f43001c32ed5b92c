package netaddr_test

import (
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/internal/netaddr"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]struct{ ip, key string }{
		"203.0.113.7":               {"203.0.113.7", "203.0.113.7"},
		"203.0.113.7:51234":         {"203.0.113.7", "203.0.113.7"},
		" 203.0.113.7\t":            {"203.0.113.7", "203.0.113.7"},
		"::ffff:203.0.113.7":        {"203.0.113.7", "203.0.113.7"},
		"[::ffff:203.0.113.7]:80":   {"203.0.113.7", "203.0.113.7"},
		"2001:db8::7":               {"2001:db8::7", "2001:db8::"},
		"[2001:db8::7]":             {"2001:db8::7", "2001:db8::"},
		"[2001:db8::7]:51234":       {"2001:db8::7", "2001:db8::"},
		`"[2001:db8::7]:51234"`:     {"2001:db8::7", "2001:db8::"},
		"fe80::7%eth0":              {"fe80::7", "fe80::"},
		"[fe80::7%eth0]:80":         {"fe80::7", "fe80::"},
		"":                          {"invalid IP", ""},
		"unknown":                   {"invalid IP", "unknown"},
		"203.0.113.7:http":          {"invalid IP", "203.0.113.7:http"},
		"@":                         {"invalid IP", "@"},
		strings.Repeat("x", 64):     {"invalid IP", strings.Repeat("x", 64)},
		strings.Repeat("x", 65):     {"invalid IP", ""},
		"203.0.113.7, 198.51.100.1": {"invalid IP", "203.0.113.7, 198.51.100.1"},
	} {
		if ip, key := netaddr.Parse(text); ip.String() != want.ip || key != want.key {
			t.Errorf("%q: got %s and the key %q, want %s and %q", text, ip, key, want.ip, want.key)
		}
	}
}
