package templates_test

import (
	"fmt"

	"github.com/chromedp/chromedp"
)

// hostSheet is what a site's own rules may say of its elements.
const hostSheet = `
	*, ::before { box-sizing: border-box; margin: 0; padding: 0; border: 0 solid; }
	.panel :is(section, p, ul, li, a, button, form, fieldset, legend, label, small, input, select, img, time, data, span, bdi, div) {
		display: block; width: 77%; min-height: 60px; margin: 3px 0 7px 30px; padding: 5px; border: 2px solid red; background: yellow;
		color: red; font: 20px/3 serif; letter-spacing: 2px; text-transform: uppercase; text-decoration: overline; list-style: square;
	}
	.panel :is(li, a) { float: left; }
	.panel :is(li, p, a, button)::before { content: "• "; }`

// measure has two functions. measure describes all elements of the library, with places relative to
// the outermost of them. changes adds the rules of a site, and returns the first differences.
const measure = `
	window.roots = (() => {
		const own = "whos-online, presence-part, presence-bell, .presence, .presence-legend";
		return [...document.querySelectorAll(own)].filter((e) => !e.parentElement.closest(own));
	})();
	window.measure = () => roots.flatMap((root) => {
		const at = root.getBoundingClientRect();
		return [...root.querySelectorAll("*")].map((e) => {
			const box = e.getBoundingClientRect(), style = getComputedStyle(e);
			return [e.localName, e.className, ...(box.height ? [box.x - at.x, box.y - at.y, box.width, box.height].map(Math.round) : []), style.color, style.backgroundColor,
				style.listStyleType, style.textDecorationLine, style.textTransform, getComputedStyle(e, "::before").content].join(" ");
		});
	});
	window.changes = () => {
		const before = measure(), sheet = new CSSStyleSheet();
		sheet.replaceSync(%q);
		const host = (is) => { for (const root of roots) root.parentElement.classList.toggle("panel", is); };
		host(true);
		document.adoptedStyleSheets = [sheet];
		const after = measure();
		document.adoptedStyleSheets = [];
		host(false);
		return before.length > 9 ? before.flatMap((was, i) => was === after[i] ? [] : [was + " → " + after[i]]).slice(0, 5).join("\n") : "nothing measured";
	};
	undefined`

// holds checks that the rules of a site for its elements change nothing that the library rendered.
func (b *browser) holds() {
	b.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(measure, hostSheet)))
	b.until("changes()", "")
}
