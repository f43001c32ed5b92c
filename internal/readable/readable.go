// Package readable makes colours of texts that are readable on light and on dark pages.
package readable

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Color has the values of red, green and blue in sRGB, from 0 to 1.
type Color [3]float64

// Parse reads "#rrggbb" or "#rgb".
func Parse(s string) (c Color, ok bool) {
	digits, ok := strings.CutPrefix(s, "#")
	if len(digits) == 3 {
		digits = string([]byte{digits[0], digits[0], digits[1], digits[1], digits[2], digits[2]})
	}
	n, err := strconv.ParseUint(digits, 16, 32)
	if !ok || err != nil || len(digits) != 6 {
		return c, false
	}
	for i := range c {
		c[i] = float64(n>>(16-8*i)&0xff) / 255
	}
	return c, true
}

// String returns c as "#rrggbb".
func (c Color) String() string {
	var b [3]int
	for i := range c {
		b[i] = int(math.Round(255 * c[i]))
	}
	return fmt.Sprintf("#%02x%02x%02x", b[0], b[1], b[2])
}

// luminance returns the relative luminance as WCAG 2 defines it:
// https://www.w3.org/TR/WCAG22/#dfn-relative-luminance.
func (c Color) luminance() float64 {
	linear := func(v float64) float64 {
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c[0]) + 0.7152*linear(c[1]) + 0.0722*linear(c[2])
}

// contrast returns the contrast of two colours, from 1 to 21.
func (c Color) contrast(d Color) float64 {
	a, b := c.luminance(), d.luminance()
	return (max(a, b) + 0.05) / (min(a, b) + 0.05)
}

// A text is readable on all backgrounds from white to leastLight and from black to leastDark.
// These include the backgrounds of a user in the widget, also under the pointer.
var (
	leastLight = Color{0xd8 / 255., 0xd8 / 255., 0xd8 / 255.}
	leastDark  = Color{0x3c / 255., 0x3c / 255., 0x3c / 255.}
)

// minContrast is the contrast that WCAG 2 requires of text: https://www.w3.org/TR/WCAG22/#contrast-minimum.
const minContrast = 4.5

// darkened returns c scaled down by share, and whether that is readable on a light page.
func darkened(c Color, share float64) (Color, bool) {
	for i := range c {
		c[i] = math.Round(255*c[i]*(1-share)) / 255 // rounded, as String writes it
	}
	return c, c.contrast(leastLight) >= minContrast && c.luminance() < leastLight.luminance()
}

// lightened returns c mixed with white by share, and whether that is readable on a dark page.
func lightened(c Color, share float64) (Color, bool) {
	for i := range c {
		c[i] = math.Round(255*(c[i]+(1-c[i])*share)) / 255
	}
	return c, c.contrast(leastDark) >= minContrast && c.luminance() > leastDark.luminance()
}

// OnLight returns a colour like c that is readable on a light page.
func (c Color) OnLight() Color { return c.until(darkened) }

// OnDark returns a colour like c that is readable on a dark page.
func (c Color) OnDark() Color { return c.until(lightened) }

// until changes a colour in steps of a hundredth, until it is readable.
func (c Color) until(change func(Color, float64) (Color, bool)) Color {
	for share := 0.; ; share += 0.01 {
		if changed, ok := change(c, share); ok || share >= 1 {
			return changed
		}
	}
}
