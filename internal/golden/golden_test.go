package golden_test

import (
	"testing"

	"github.com/rollcall-go/rollcall/internal/golden"
)

func TestCovers(t *testing.T) {
	for _, tt := range []struct {
		got, want string
		covers    bool
	}{
		{"a b", "a b", true},
		{"a b c", "a b", false},
		{`!1{"a":1}`, `!1{"a":1}`, true},
		{`!1{"b":2,"a":1}`, `!1{"a":1}`, true},
		{`!2{"a":1}`, `!1{"a":1}`, false},
		{`{"b":2}`, `{"a":1}`, false},
		{`{"a":2}`, `{"a":1}`, false},
		{`{"a":"1"}`, `{"a":1}`, false},
		{`{"a":null}`, `{"a":{}}`, false},
		{`{"a":[{"b":1,"c":2}]}`, `{"a":[{"b":1}]}`, true},
		{`{"a":[{"b":1},{"b":2}]}`, `{"a":[{"b":1}]}`, false},
		{`{"a":[{"c":1}]}`, `{"a":[{"b":1}]}`, false},
		{`{"a":1`, `{"a":1}`, false},
	} {
		if got := golden.Covers(tt.got, tt.want); got != tt.covers {
			t.Errorf("%s for %s: got %v, want %v", tt.got, tt.want, got, tt.covers)
		}
	}
}
