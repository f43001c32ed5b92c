package generations_test

import (
	"maps"
	"testing"

	"github.com/rollcall-go/rollcall/internal/generations"
)

func TestTheOldestAreForgotten(t *testing.T) {
	const most = 100
	forgotten := 0
	m := generations.New[int, int](most, func(n int) { forgotten += n })
	for i := range 10 * most {
		m.Set(i, -i)
		if m.Len() > most || m.Len()+forgotten != i+1 {
			t.Fatalf("after %d: %d remembered and %d forgotten, want %d at most, and all counted", i+1, m.Len(), forgotten, most)
		}
		for j := max(0, i-most/2); j <= i; j++ {
			if v, ok := m.Get(j); !ok || v != -j {
				t.Fatalf("after %d: %d is %d, %t", i+1, j, v, ok)
			}
		}
	}
}

// A key that is set again takes no room of others, in whichever generation it is.
func TestKeysAreCountedOnce(t *testing.T) {
	m := generations.New[int, string](4, func(n int) { t.Errorf("%d values were forgotten", n) })
	for i := range 4 {
		m.Set(i, "first")
	}
	for range 10 {
		m.Set(2, "again")
		m.Set(3, "again")
	}
	if want := map[int]string{0: "first", 1: "first", 2: "again", 3: "again"}; !maps.Equal(maps.Collect(m.All()), want) {
		t.Errorf("got %v, want %v", maps.Collect(m.All()), want)
	}
}

func TestUseKeepsAndReplaceDoesNot(t *testing.T) {
	m := generations.New[string, int](4, nil)
	m.Set("used", 1)
	m.Set("replaced", 1)
	m.Turn()
	if v, ok := m.Use("used"); v != 1 || !ok {
		t.Errorf("Use: got %d, %t, want 1, true", v, ok)
	}
	m.Replace("replaced", 2)
	m.Replace("unknown", 2)
	if v, ok := m.Get("replaced"); v != 2 || !ok || m.Len() != 2 {
		t.Errorf("Replace: got %d, %t of %d, want 2, true of 2", v, ok, m.Len())
	}
	m.Turn()
	if want := map[string]int{"used": 1}; !maps.Equal(maps.Collect(m.All()), want) {
		t.Errorf("after a turn: got %v, want %v", maps.Collect(m.All()), want)
	}
}

func TestTakeAndDelete(t *testing.T) {
	m := generations.New[int, bool](10, nil)
	m.Set(1, true)
	m.Turn()
	m.Set(2, true)
	taken := m.Take()
	m.Set(3, true)
	if m.Len() != 1 || taken.Len() != 2 {
		t.Errorf("got %d and %d taken, want 1 and 2", m.Len(), taken.Len())
	}
	for k := range taken.All() {
		taken.Delete(k)
	}
	if taken.Len() != 0 {
		t.Errorf("got %d left, want 0", taken.Len())
	}
}
