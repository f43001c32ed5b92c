package handlers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// A cache counts its keys as well as its values, holds a bounded number of either,
// and forgets what it has of an earlier view.
func TestViewCache(t *testing.T) {
	view := func(topic string) *presence.View { return &presence.View{Topic: presence.Topic(topic)} }
	t.Run("long keys", func(t *testing.T) {
		var c handlers.ViewCache
		v := view("site")
		for i := range 1000 {
			c.Put(v, fmt.Sprint(i, strings.Repeat("x", 100<<10)), "")
			if n, bytes := c.Size(); bytes > handlers.MaxCachedPages || n > 100 {
				t.Fatalf("got %d entries of %d bytes, want %d bytes at most", n, bytes, handlers.MaxCachedPages)
			}
		}
		if !c.Has(v, fmt.Sprint(999, strings.Repeat("x", 100<<10))) {
			t.Error("the latest is not kept")
		}
	})
	t.Run("many", func(t *testing.T) {
		var c handlers.ViewCache
		views := make([]*presence.View, 2*handlers.MaxCachedEntries)
		for i := range views {
			views[i] = view(fmt.Sprint("thread:", i))
			c.Put(views[i], "", "a")
			c.Has(views[0], "") // which makes it the one used latest
		}
		if n, _ := c.Size(); n != handlers.MaxCachedEntries {
			t.Errorf("got %d entries, want %d", n, handlers.MaxCachedEntries)
		}
		if !c.Has(views[0], "") || c.Has(views[1], "") {
			t.Error("want the one used least recently forgotten, and the one used latest kept")
		}
	})
	t.Run("views", func(t *testing.T) {
		var c handlers.ViewCache
		v := view("site")
		for i := range 100 {
			c.Put(v, fmt.Sprint(i), "a")
		}
		c.Put(v, "7", "a")
		if n, _ := c.Size(); n != 100 {
			t.Errorf("got %d entries, want 100", n)
		}
		newer := view("site")
		c.Put(newer, "7", "b")
		if n, _ := c.Size(); n != 1 || c.Has(v, "7") || !c.Has(newer, "7") {
			t.Errorf("got %d entries, want that of the newer view alone", n)
		}
	})
}
