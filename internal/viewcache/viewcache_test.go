package viewcache

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

func view(topic string) *track.View { return &track.View{Topic: presence.Topic(topic)} }

func has(c *Cache[string, string], v *track.View, key string) bool {
	_, ok := c.Get(v, key)
	return ok
}

func TestBytesAreBounded(t *testing.T) {
	var c Cache[string, string]
	v := view("site")
	for i := range 1000 {
		key := fmt.Sprint(i, strings.Repeat("x", 100<<10))
		c.Put(v, key, "", len(key))
		if c.bytes > MaxBytes || c.order.Len() > 100 {
			t.Fatalf("got %d entries of %d bytes, want %d bytes at most", c.order.Len(), c.bytes, MaxBytes)
		}
		if !has(&c, v, key) {
			t.Fatalf("the latest entry of %d is missing", i+1)
		}
	}
}

func TestEntriesAreBounded(t *testing.T) {
	var c Cache[string, string]
	views := make([]*track.View, 2*maxEntries)
	for i := range views {
		views[i] = view(fmt.Sprint("thread:", i))
		c.Put(views[i], "", "a", 1)
		c.Get(views[0], "") // is the most recently used from now on
	}
	if got := c.order.Len(); got != maxEntries {
		t.Errorf("got %d entries, want %d", got, maxEntries)
	}
	if !has(&c, views[0], "") || has(&c, views[1], "") {
		t.Error("want the least recently used entry removed, and the most recently used kept")
	}
}

func TestNewerViewRemovesTheOlder(t *testing.T) {
	var c Cache[string, string]
	older, newer := view("site"), view("site")
	for i := range 100 {
		c.Put(older, fmt.Sprint(i), "a", 1)
	}
	c.Put(older, "7", "b", 1)
	if got, _ := c.Get(older, "7"); got != "a" || c.order.Len() != 100 {
		t.Errorf("got %q and %d entries, want the first value, and 100", got, c.order.Len())
	}
	c.Put(newer, "7", "c", 1)
	if got, _ := c.Get(newer, "7"); got != "c" || has(&c, older, "7") || c.order.Len() != 1 {
		t.Errorf("got %q and %d entries, want those of the newer view alone", got, c.order.Len())
	}
	if want := 1 + EntryCost; c.bytes != want {
		t.Errorf("got %d bytes, want %d", c.bytes, want)
	}
}
