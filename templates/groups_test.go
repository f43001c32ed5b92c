package templates_test

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

// style returns the style sheet of a site.
func (s *site) style() string {
	s.Helper()
	for _, link := range assetURL.FindAllStringSubmatch(s.page(`{{presenceHead}}`, guest), -1) {
		if link[3] == "css" {
			return body(s.T, s.get("GET", link[1]))
		}
	}
	s.Fatal("the head links no style")
	return ""
}

// luminance is that of WCAG 2, of "#rrggbb".
func luminance(t *testing.T, hex string) (sum float64) {
	t.Helper()
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		noError(t, err)
		v := float64(n) / 255
		if v <= 0.04045 {
			sum += weight * v / 12.92
		} else {
			sum += weight * math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return sum
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a)+0.05, luminance(t, b)+0.05
	return max(x/y, y/x)
}

// Whatever colour a site gives a group, its names can be read on a light page and on a dark
// one, also on the background of a user under the pointer. A colour that can be read stays.
func TestGroupColoursCanBeRead(t *testing.T) {
	colors := []string{"#000", "#fff", "#FFFFFF", "#808080", "#00f", "#ff0", "#0f0", "#f00"}
	for _, light := range []int{0x33, 0x66, 0x99, 0xcc, 0xff} {
		for hue := range 36 { // at full saturation, and at a third of it
			for _, least := range []int{0, light * 2 / 3} {
				wheel := func(offset int) int {
					d := math.Abs(math.Mod(float64(hue*10+offset), 360) - 180)
					return least + int(float64(light-least)*min(1, max(0, (d-60)/60)))
				}
				colors = append(colors, fmt.Sprintf("#%02x%02x%02x", wheel(0), wheel(240), wheel(120)))
			}
		}
	}
	rule := regexp.MustCompile(`\[data-group="g(\d+)"\] \{\s+--group: light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)`)
	var groups []templates.Group
	for i, c := range colors {
		groups = append(groups, templates.Group{Name: fmt.Sprintf("g%d", i), Color: c})
	}
	bubble(t, templates.Config{Groups: groups}, func(s *site) {
		found := rule.FindAllStringSubmatch(s.style(), -1)
		if len(found) != len(colors) {
			t.Fatalf("got %d rules, want %d", len(found), len(colors))
		}
		for i, f := range found {
			for _, on := range []string{"#ffffff", "#d8d8d8"} {
				if c := contrast(t, f[2], on); c < 4.5 {
					t.Errorf("%s: got %s, with a contrast of %.2f on %s", colors[i], f[2], c, on)
				}
			}
			for _, on := range []string{"#000000", "#3c3c3c"} {
				if c := contrast(t, f[3], on); c < 4.5 {
					t.Errorf("%s: got %s, with a contrast of %.2f on %s", colors[i], f[3], c, on)
				}
			}
		}
		if got := found[0][2]; got != "#000000" {
			t.Errorf("black on light: got %s", got)
		}
		if got := found[1][3]; got != "#ffffff" {
			t.Errorf("white on dark: got %s", got)
		}
	})
}

// The legend has the groups in their order, and each user of the widget has the group.
func TestGroups(t *testing.T) {
	cfg := templates.Config{Groups: []templates.Group{{Name: "staff", Title: `S<t>"aff`, Color: "#c03"}, {Name: "mod-1"}}}
	bubble(t, cfg, func(s *site) {
		s.see(presence.Site, presence.User{ID: "alice", Group: "staff"}, user("bob"))
		page := s.page(`{{legend}}{{whosOnline "site"}}`, guest)
		for _, want := range []string{
			`<ul class="presence-legend" role="list" aria-label="Groups"><li data-group="staff"><span>S&lt;t&gt;&#34;aff</span></li><li data-group="mod-1"><span>mod-1</span></li></ul>`,
			`data-user="alice" data-status="online" data-since="`, `" data-group="staff"><a class="presence-card"`,
		} {
			if !strings.Contains(page, want) {
				t.Errorf("got\n%s\nwant it to contain\n%s", page, want)
			}
		}
		if n := strings.Count(page, `data-group="staff"`); n != 2 {
			t.Errorf("got %d elements of staff, want the legend's and alice", n)
		}
		style := s.style()
		if want := `content: "\200b" / ", S\3c t\3e \22 aff";`; !strings.Contains(style, want) {
			t.Errorf("got a style without %s", want)
		}
		if strings.Contains(style, `[data-group="mod-1"] {
  --group`) {
			t.Error("a group without a colour has one")
		}
	})
	bubble(t, templates.Config{}, func(s *site) {
		if got := s.page(`{{legend}}`, guest); got != "" {
			t.Errorf("without groups: got the legend %q", got)
		}
	})
}

// New names each mistake in the groups.
func TestGroupsAreChecked(t *testing.T) {
	tracker, err := track.New(memstore.New(), track.Config{})
	noError(t, err)
	defer tracker.Close(context.Background())
	for want, groups := range map[string][]templates.Group{
		`"Staff" must be 1-32`:         {{Name: "Staff"}},
		`"" must be 1-32`:              {{}},
		`two of the name "staff"`:      {{Name: "staff"}, {Name: "staff"}},
		`the color "red" of "staff"`:   {{Name: "staff", Color: "red"}},
		`the color "#12345" of "mods"`: {{Name: "staff"}, {Name: "mods", Color: "#12345"}},
		`the color "#gg0000"`:          {{Name: "staff", Color: "#gg0000"}},
		`the color "c0392b"`:           {{Name: "staff", Color: "c0392b"}},
	} {
		if _, err := templates.New(nil, tracker, templates.Config{Groups: groups}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got the error %v, want %s in it", err, want)
		}
	}
}
