package core

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

const ( // the parts of a user agent
	browserPart = iota // a program that is no browser has a kind: the other parts do not count
	systemPart
	formPart                      // how large the device is
	handheld = "mobile or tablet" // the kind of a system that both have
)

type family struct{ kind, name string }

// tables have the names of families, each with the words of user agents that stand for it. A name without words is its
// own word. A word in quotes is a client hint. Of two names the last one counts: most browsers say Chrome and Safari.
var tables = [...][]family{
	browserPart: {
		{"", "App: AppleWebKit; ELinks; Links; w3m; Lynx; App: Dalvik CFNetwork; Safari; Chrome: CriOS Chrome; Chromium; App: wv"},
		{"", "Internet Explorer: MSIE Trident; Firefox: FxiOS Firefox; Firefox Focus: Focus Klar; LibreWolf; Waterfox; Pale Moon: PaleMoon; SeaMonkey"},
		{"", "Midori; Falkon; Konqueror; GNOME Web: Epiphany; Avast Browser: Avast; Ecosia; Puffin; Coc Coc: coc_coc_browser"},
		{"", "QQ Browser: MQQBrowser QQBrowser; Whale; Silk; Nintendo Browser: NintendoBrowser; Meta Quest Browser: OculusBrowser"},
		{"", "Vivo Browser: VivoBrowser; HeyTap Browser: HeyTapBrowser; Huawei Browser: HuaweiBrowser; Mi Browser: MiuiBrowser"},
		{"", "UC Browser: UCBrowser UCWEB; Brave; DuckDuckGo: DuckDuckGo Ddg; Yandex Browser: YaBrowser; Vivaldi; Samsung Internet: SamsungBrowser"},
		{"", "Opera: OPR OPX OPT OPiOS Opera; Edge: EdgA EdgiOS Edg Edge; Desktop app: Electron; Google app: GSA; Pinterest; LinkedIn: LinkedInApp"},
		{"", "LINE: Line; TikTok: BytedanceWebview musical_ly trill; Snapchat; WeChat: MicroMessenger; Facebook: FBAN FBAV FB_IAB; Instagram"},
		{presence.OtherDevice, "Ruby program: Ruby; Java program: Java Java-http-client Apache-HttpClient; okhttp; Bun program: Bun; Deno program: Deno"},
		{presence.OtherDevice, "Node.js program: node node-fetch undici axios; Python program: python-requests Python-urllib python-httpx aiohttp"},
		{presence.OtherDevice, "Go program: Go-http-client; PowerShell: WindowsPowerShell PowerShell; Insomnia: insomnia; Postman: PostmanRuntime"},
		{presence.OtherDevice, "HTTPie; Wget; curl; PHP program: GuzzleHttp"},
	},
	systemPart: {
		{presence.Desktop, `Linux: Linux linux-gnu X11 "Linux"; Haiku; NetBSD; OpenBSD; FreeBSD`},
		{"", "an Apple device: Darwin"},
		{presence.Desktop, `macOS: Macintosh "macOS"; Windows: Windows "Windows"; ChromeOS: CrOS "ChromeOS" "ChromiumOS"`},
		{handheld, `Android: Android "Android"; HarmonyOS: HarmonyOS OpenHarmony; Tizen`},
		{presence.Mobile, `Symbian: Symbian SymbianOS; BlackBerry: BB10 BlackBerry; KaiOS: KAIOS; iOS: "iOS"; iPhone; iPod; Windows Phone: Phone`},
		{presence.Tablet, "iPad"},
		{presence.OtherDevice, "webOS: Web0S webOS; Nintendo; PlayStation: PlayStation PLAYSTATION; Xbox"},
	},
	formPart: {
		{presence.Tablet, "Tablet"},
		{presence.Mobile, "Dalvik; Mini; Mobile"},
		{presence.OtherDevice, "OculusBrowser; CrKey; BRAVIA; GoogleTV; HbbTV; TV; SMARTTV; SmartTV; SMART-TV"},
	},
}

// families are the names of the tables, after one that stands for none. familyWords has their indexes, by word and part.
var families, familyWords = func() ([]family, map[string][len(tables)]int) {
	all, words := make([]family, 1), make(map[string][len(tables)]int)
	for part, rows := range tables {
		for _, row := range rows {
			for names := range strings.SplitSeq(row.name, "; ") {
				name, said, _ := strings.Cut(names, ": ")
				for word := range strings.FieldsSeq(cmp.Or(said, name)) {
					indexes := words[word]
					indexes[part] = len(all)
					words[word] = indexes
				}
				all = append(all, family{row.kind, name})
			}
		}
	}
	return all, words
}()

// kindAndLabel returns a device's kind, and a label of the families of browser and system, such as "Firefox on Linux".
// The label is made of the tables alone, and never of the client's text. It has no versions, so that an update does not
// make another device of it. Browsers send client hints with pages and not with WebSockets, so a hint counts only where
// the user agent names no system. Else the label would differ between a page and its stream.
func kindAndLabel(r *http.Request) (kind, label string) {
	agent := userAgent(r)
	if name := crawlerName(agent); name != "" {
		return presence.OtherDevice, name
	}
	var found [len(tables)]int
	take := func(word string) {
		for part, i := range familyWords[word] {
			found[part] = max(found[part], i)
		}
	}
	const wordBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	for word := range strings.FieldsFuncSeq(agent, func(c rune) bool { return !strings.ContainsRune(wordBytes, c) }) {
		take(word)
	}
	if found[systemPart] == 0 {
		if hint := header(r.Header, "Sec-Ch-Ua-Platform"); strings.HasPrefix(hint, `"`) {
			take(strings.ReplaceAll(hint, " ", ""))
		}
		if header(r.Header, "Sec-Ch-Ua-Mobile") == "?1" {
			take("Mobile")
		}
	}
	browser, system, form := families[found[browserPart]], families[found[systemPart]], families[found[formPart]].kind
	switch kind = system.kind; {
	case browser.kind != "":
		return browser.kind, browser.name
	case kind == "" || form == presence.OtherDevice:
		kind = cmp.Or(form, presence.OtherDevice)
	case kind == handheld:
		kind = cmp.Or(form, presence.Tablet)
	}
	label = cmp.Or(browser.name, "Unknown browser")
	if label == "Safari" && system.name == "Android" {
		label = "Android Browser"
	}
	if system.name != "" {
		label += " on " + system.name
	}
	return kind, label
}

// userAgent returns the part of a user agent that is read, at most maxUserAgent bytes.
func userAgent(r *http.Request) string {
	agent := header(r.Header, "User-Agent")
	return agent[:min(len(agent), maxUserAgent)]
}
