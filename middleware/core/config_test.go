package core_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
)

func TestInvalidConfigIsRefusedWithTheReason(t *testing.T) {
	tracker := newTracker(t)
	for name, tt := range map[string]struct {
		config nethttp.Config
		want   []string
	}{
		"no identify":                  {nethttp.Config{}, []string{"Identify"}},
		"bad topic":                    {nethttp.Config{Topic: "../x"}, []string{"Topic"}},
		"bad cookie name":              {nethttp.Config{CookieName: "a b"}, []string{"CookieName"}},
		"throttle too short":           {nethttp.Config{Throttle: 99 * time.Millisecond}, []string{"Throttle is 99ms", "at least 100ms"}},
		"throttle negative":            {nethttp.Config{Throttle: -time.Second}, []string{"Throttle is -1s"}},
		"throttle longer than half":    {nethttp.Config{Throttle: 150*time.Second + 1}, []string{"Throttle is 2m30.000000001s", "half the tracker's Age of 5m0s"}},
		"secret too short":             {nethttp.Config{Secret: make([]byte, 15)}, []string{"Secret has 15 bytes", "16 to 64"}},
		"secret too long":              {nethttp.Config{Secret: make([]byte, 65)}, []string{"Secret has 65 bytes"}},
		"every problem, and not a one": {nethttp.Config{Topic: "?", CookieName: "?", Throttle: 1}, []string{"Identify", "Topic", "CookieName", "Throttle"}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.config.Tracker = tracker
			if len(tt.want) != 4 && tt.want[0] != "Identify" {
				tt.config.Identify = byHeader
			}
			mw, err := nethttp.New(tt.config)
			if mw != nil || !errors.Is(err, presence.ErrInvalidConfig) {
				t.Fatalf("got error %v, want one that is ErrInvalidConfig", err)
			}
			if got := strings.Count(err.Error(), "\n") + 1; len(tt.want) == 4 && got != 4 {
				t.Errorf("got %d problems, want 4: %v", got, err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got error %q, want %q in it", err, want)
				}
			}
			defer func() {
				if got := recover(); got == nil {
					t.Error("got no panic of PresenceWithConfig, want one")
				}
			}()
			nethttp.PresenceWithConfig(tt.config)
		})
	}
}

func TestValidConfig(t *testing.T) {
	tracker := newTracker(t)
	for _, config := range []nethttp.Config{
		{},
		{Throttle: 150 * time.Second},
		{Throttle: 100 * time.Millisecond},
		{Secret: make([]byte, 16)},
		{Secret: make([]byte, 64)},
		{Topic: "blog:1", CookieName: "__Host-seen"},
	} {
		config.Tracker, config.Identify = tracker, byHeader
		if _, err := nethttp.New(config); err != nil {
			t.Errorf("got error %v for %+v, want none", err, config)
		}
	}
}
