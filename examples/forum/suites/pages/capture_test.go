package pages_test

import (
	"bytes"
	"cmp"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/examples/forum/suites/internal/forumtab"
)

// TestCapture plays what docs show in motion: two windows of the forum,
// each of which sees what happens in the other. Where SCREENSHOTS names a
// directory it leaves the picture there.
func TestCapture(t *testing.T) {
	t.Parallel()
	dir := cmp.Or(os.Getenv("SCREENSHOTS"), t.TempDir())
	f, b := forumtest.Start(t, "-grace", "1s", "-sweep", "200ms"), forumtab.New(t)
	const width, height, gap = 400, 430, 12
	var c capture
	alice, bob := b.Profile(f), b.Profile(f)
	emulate(t, alice, "light", width, height)
	emulate(t, bob, "dark", width, height)
	take := func(hundredths int, tabs ...*forumtab.Tab) {
		t.Helper()
		frame := image.NewRGBA(image.Rect(0, 0, 2*width+3*gap, height+2*gap))
		draw.Draw(frame, frame.Rect, image.NewUniform(color.RGBA{0xb9, 0xc2, 0xb4, 0xff}), image.Point{}, draw.Src)
		for i, tab := range tabs {
			at := image.Pt(gap+i*(width+gap), gap)
			draw.Draw(frame, image.Rectangle{at, at.Add(image.Pt(width, height))}, window(t, tab), image.Point{}, draw.Src)
		}
		c.add(frame, hundredths)
	}

	alice.Open("/online")
	alice.SignIn("Alice")
	alice.IsLive()
	bob.Open("/online")
	bob.IsLive()
	alice.Sees(forumtab.User("site", "alice"))
	take(150, alice, bob)
	bob.Do("type", chromedp.SendKeys(chromedp.CSS("input[name=name]"), "Bob"))
	take(70, alice, bob)
	bob.Click("form[action='/login'] button")
	bob.IsLive()
	alice.Sees(forumtab.User("site", "bob"))
	take(170, alice, bob)
	for _, name := range []string{"Carol", "Eun-ji", "Zoë"} {
		f.User(t, name).Stream("topic=site")
		alice.Sees(forumtab.User("site", strings.ToLower(name)))
		bob.Sees(forumtab.User("site", strings.ToLower(name)))
		take(70, alice, bob)
	}
	take(60, alice, bob)
	bob.Do("open the menu", chromedp.Click(chromedp.CSS(".status")))
	bob.Sees("#status-menu")
	take(110, alice, bob)
	bob.Click("#status-menu [value=busy]")
	bob.IsLive()
	alice.Sees(forumtab.User("site", "bob") + `[data-status="busy"]`)
	take(190, alice, bob)
	bob.Close()
	take(90, alice)
	alice.Misses(forumtab.User("site", "bob"))
	take(250, alice)

	c.write(t, filepath.Join(dir, "two-windows.gif"), 600<<10)
}

// window returns what the tab's window shows.
func window(t *testing.T, tb *forumtab.Tab) image.Image {
	t.Helper()
	ctx, cancel := context.WithTimeout(tb.Ctx, forumtest.Patience)
	defer cancel()
	content, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// A capture is a picture in motion.
type capture struct {
	frames []*image.RGBA
	delays []int // how long each is shown, in hundredths of a second
}

func (c *capture) add(frame *image.RGBA, hundredths int) {
	c.frames = append(c.frames, frame)
	c.delays = append(c.delays, hundredths)
}

// write writes the capture as a GIF of at most so many bytes. Of each frame but the
// first it holds what is new.
func (c *capture) write(t *testing.T, file string, most int) {
	t.Helper()
	palette := c.palette()
	nearest := make(map[color.RGBA]uint8)
	anim := gif.GIF{Delay: c.delays}
	for i, frame := range c.frames {
		rect := frame.Rect
		if i > 0 {
			rect = changed(c.frames[i-1], frame)
		}
		img := image.NewPaletted(rect, palette)
		for y := rect.Min.Y; y < rect.Max.Y; y++ {
			for x := rect.Min.X; x < rect.Max.X; x++ {
				at := frame.RGBAAt(x, y)
				index, ok := nearest[at]
				if !ok {
					index = uint8(palette.Index(at))
					nearest[at] = index
				}
				img.SetColorIndex(x, y, index)
			}
		}
		anim.Image = append(anim.Image, img)
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &anim); err != nil {
		t.Fatal(err)
	}
	if b.Len() > most {
		t.Errorf("got %d bytes, want at most %d", b.Len(), most)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// palette returns 256 colours that the frames have most of. Of those that look the
// same it takes one, so that there is room for the few pixels of a dot.
func (c *capture) palette() color.Palette {
	count := make(map[color.RGBA]int)
	for _, frame := range c.frames {
		for i := 0; i < len(frame.Pix); i += 4 {
			p := frame.Pix[i : i+4 : i+4]
			count[color.RGBA{p[0], p[1], p[2], p[3]}]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int { return count[b] - count[a] })
	var palette color.Palette
	taken := make(map[color.RGBA]bool)
	for _, c := range colours {
		alike := color.RGBA{R: c.R / 12, G: c.G / 12, B: c.B / 12}
		if len(palette) < 256 && !taken[alike] {
			taken[alike] = true
			palette = append(palette, c)
		}
	}
	return palette
}

// changed returns the rectangle outside of which two frames are the same, at least
// one pixel.
func changed(a, b *image.RGBA) image.Rectangle {
	rect := image.Rect(0, 0, 1, 1)
	first := true
	for y := a.Rect.Min.Y; y < a.Rect.Max.Y; y++ {
		for x := a.Rect.Min.X; x < a.Rect.Max.X; x++ {
			if a.RGBAAt(x, y) == b.RGBAAt(x, y) {
				continue
			}
			pixel := image.Rect(x, y, x+1, y+1)
			if first {
				rect, first = pixel, false
			} else {
				rect = rect.Union(pixel)
			}
		}
	}
	return rect
}
