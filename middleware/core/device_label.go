package core

import (
	"net/http"

	"github.com/rollcall-go/rollcall/presence"
)

// unknownBrowser is the label of a device whose user agent and hints match no table.
const unknownBrowser = "Unknown browser"

// kindAndLabel returns what a request says of its device: the kind, and a label of the
// families of browser and system, such as "Firefox on Linux". The label is made of the
// tables below alone, and never of the client's text. It has no versions, so that an
// update does not make another device of it.
//
// The user agent decides. Browsers send client hints (Sec-CH-UA-Platform and
// Sec-CH-UA-Mobile) with pages and not with WebSockets, so a hint counts only where the user
// agent says nothing. Else the label would differ between a page and its stream.
func kindAndLabel(r *http.Request) (kind, label string) {
	agent := userAgent(r)
	if isCrawler(agent) {
		return presence.OtherDevice, crawlerName(agent)
	}
	f := familiesOf(agent)
	if f.program != "" {
		return presence.OtherDevice, f.program
	}
	f.takeHints(r.Header)
	return f.kind(), f.label()
}

// userAgent returns the part of a user agent that is read, at most maxUserAgent bytes.
func userAgent(r *http.Request) string {
	agent := header(r.Header, "User-Agent")
	return agent[:min(len(agent), maxUserAgent)]
}

// families are what a user agent names.
type families struct {
	browser, system family
	program         string // not a browser; empty: none
	form            form
}

// A family is one row of a table. index is its place in the table: of two families that a user agent names,
// the one with the lower index counts. 0 means no family.
type family struct {
	number int
	name   string
}

// A form is the words of a user agent that say how large the device is.
type form uint8

const (
	phone form = 1 << iota
	slate
	screen // a television, or glasses
)

// familiesOf reads a user agent word by word.
func familiesOf(agent string) (f families) {
	for i := 0; i < len(agent); i++ {
		start := i
		for i < len(agent) && wordByte[agent[i]] {
			i++
		}
		if i == start || agent[start] <= '9' { // no word of the tables begins with a digit
			continue
		}
		if w, ok := words[agent[start:i]]; ok {
			f.take(w)
		}
	}
	return f
}

// wordByte tells the bytes of words.
var wordByte = func() (is [256]bool) {
	for _, b := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") {
		is[b] = true
	}
	return is
}()

func (f *families) take(w *families) {
	if n := w.browser.number; n != 0 && (f.browser.number == 0 || n < f.browser.number) {
		f.browser = w.browser
	}
	if n := w.system.number; n != 0 && (f.system.number == 0 || n < f.system.number) {
		f.system = w.system
	}
	if f.program == "" {
		f.program = w.program
	}
	f.form |= w.form
}

// takeHints fills in what the user agent does not say.
func (f *families) takeHints(h http.Header) {
	if f.system.name == "" {
		switch header(h, "Sec-Ch-Ua-Platform") {
		case `"Android"`:
			f.system.name = android
		case `"Chrome OS"`, `"Chromium OS"`:
			f.system.name = chromeOS
		case `"iOS"`:
			f.system.name = "iOS"
		case `"Linux"`:
			f.system.name = linux
		case `"macOS"`:
			f.system.name = macOS
		case `"Windows"`:
			f.system.name = windows
		}
		if header(h, "Sec-Ch-Ua-Mobile") == "?1" {
			f.form |= phone
		}
	}
}

func (f *families) kind() string {
	if f.form&screen != 0 {
		return presence.OtherDevice
	}
	switch f.system.name {
	case windows, macOS, linux, chromeOS, "FreeBSD", "OpenBSD", "NetBSD", "Haiku":
		return presence.Desktop
	case "iPhone", "iPod", "iOS", "KaiOS", "Windows Phone", "BlackBerry", "Symbian":
		return presence.Mobile
	case "iPad":
		return presence.Tablet
	case "Xbox", "PlayStation", "Nintendo", "webOS":
		return presence.OtherDevice
	case android, "HarmonyOS", "Tizen":
		if f.form&phone == 0 {
			return presence.Tablet
		}
		return presence.Mobile
	}
	switch {
	case f.form&slate != 0:
		return presence.Tablet
	case f.form&phone != 0:
		return presence.Mobile
	}
	return presence.OtherDevice
}

func (f *families) label() string {
	browser := f.browser.name
	if browser == "Safari" && f.system.name == android {
		browser = "Android Browser"
	}
	switch {
	case browser == "" && f.system.name == "":
		return unknownBrowser
	case browser == "":
		return unknownBrowser + " on " + f.system.name
	case f.system.name == "":
		return browser
	}
	return browser + " on " + f.system.name
}

const (
	android  = "Android"
	chromeOS = "ChromeOS"
	linux    = "Linux"
	macOS    = "macOS"
	windows  = "Windows"
)

// browsers are the words that name a browser. Most browsers call themselves Chrome and
// Safari too, so the special ones stand first.
var browsers = [...]struct{ word, name string }{
	// What shows pages in an app.
	{"Instagram", "Instagram"},
	{"FBAN", "Facebook"},
	{"FBAV", "Facebook"},
	{"FB_IAB", "Facebook"},
	{"MicroMessenger", "WeChat"},
	{"Snapchat", "Snapchat"},
	{"BytedanceWebview", "TikTok"},
	{"musical_ly", "TikTok"},
	{"trill", "TikTok"},
	{"Line", "LINE"},
	{"LinkedInApp", "LinkedIn"},
	{"Pinterest", "Pinterest"},
	{"GSA", "Google app"},
	{"Electron", "Desktop app"},

	// Browsers on Chromium and WebKit.
	{"EdgA", "Edge"},
	{"EdgiOS", "Edge"},
	{"Edg", "Edge"},
	{"Edge", "Edge"},
	{"OPR", "Opera"},
	{"OPX", "Opera"},
	{"OPT", "Opera"},
	{"OPiOS", "Opera"},
	{"Opera", "Opera"},
	{"SamsungBrowser", "Samsung Internet"},
	{"Vivaldi", "Vivaldi"},
	{"YaBrowser", "Yandex Browser"},
	{"DuckDuckGo", "DuckDuckGo"},
	{"Ddg", "DuckDuckGo"},
	{"Brave", "Brave"},
	{"UCBrowser", "UC Browser"},
	{"UCWEB", "UC Browser"},
	{"MiuiBrowser", "Mi Browser"},
	{"HuaweiBrowser", "Huawei Browser"},
	{"HeyTapBrowser", "HeyTap Browser"},
	{"VivoBrowser", "Vivo Browser"},
	{"OculusBrowser", "Meta Quest Browser"},
	{"NintendoBrowser", "Nintendo Browser"},
	{"Silk", "Silk"},
	{"Whale", "Whale"},
	{"MQQBrowser", "QQ Browser"},
	{"QQBrowser", "QQ Browser"},
	{"coc_coc_browser", "Coc Coc"},
	{"Puffin", "Puffin"},
	{"Ecosia", "Ecosia"},
	{"Avast", "Avast Browser"},
	{"Epiphany", "GNOME Web"},
	{"Konqueror", "Konqueror"},
	{"Falkon", "Falkon"},
	{"Midori", "Midori"},

	// Browsers on Gecko.
	{"SeaMonkey", "SeaMonkey"},
	{"PaleMoon", "Pale Moon"},
	{"Waterfox", "Waterfox"},
	{"LibreWolf", "LibreWolf"},
	{"Focus", "Firefox Focus"},
	{"Klar", "Firefox Focus"},
	{"FxiOS", "Firefox"},
	{"Firefox", "Firefox"},

	{"MSIE", "Internet Explorer"},
	{"Trident", "Internet Explorer"},
	{"wv", "App"}, // Android's WebView
	{"HeadlessChrome", "Headless Chrome"},
	{"Chromium", "Chromium"},
	{"CriOS", "Chrome"},
	{"Chrome", "Chrome"},
	{"Safari", "Safari"},
	{"Dalvik", "App"},
	{"CFNetwork", "App"},
	{"Lynx", "Lynx"},
	{"w3m", "w3m"},
	{"Links", "Links"},
	{"ELinks", "ELinks"},
	{"AppleWebKit", "App"}, // iOS in an app; its browsers say Safari too
}

// systems are the words that name a system, the special ones first.
var systems = [...]struct{ word, name string }{
	{"Xbox", "Xbox"},
	{"Phone", "Windows Phone"},
	{"PlayStation", "PlayStation"},
	{"PLAYSTATION", "PlayStation"},
	{"Nintendo", "Nintendo"},
	{"iPod", "iPod"},
	{"iPad", "iPad"},
	{"iPhone", "iPhone"},
	{"KAIOS", "KaiOS"},
	{"Tizen", "Tizen"},
	{"Web0S", "webOS"},
	{"webOS", "webOS"},
	{"HarmonyOS", "HarmonyOS"},
	{"OpenHarmony", "HarmonyOS"},
	{"BB10", "BlackBerry"},
	{"BlackBerry", "BlackBerry"},
	{"Symbian", "Symbian"},
	{"SymbianOS", "Symbian"},
	{"Android", android},
	{"CrOS", chromeOS},
	{"Windows", windows},
	{"Macintosh", macOS},
	{"Darwin", "an Apple device"},
	{"FreeBSD", "FreeBSD"},
	{"OpenBSD", "OpenBSD"},
	{"NetBSD", "NetBSD"},
	{"Haiku", "Haiku"},
	{"Linux", linux},
	{"linux-gnu", linux},
	{"X11", linux},
}

// programs are the words that name a program that is no browser. It is its whole label.
var programs = [...]struct{ word, name string }{
	{"curl", "curl"},
	{"Wget", "Wget"},
	{"HTTPie", "HTTPie"},
	{"PostmanRuntime", "Postman"},
	{"insomnia", "Insomnia"},
	{"WindowsPowerShell", "PowerShell"},
	{"PowerShell", "PowerShell"},
	{"Go-http-client", "Go program"},
	{"python-requests", "Python program"},
	{"Python-urllib", "Python program"},
	{"python-httpx", "Python program"},
	{"aiohttp", "Python program"},
	{"node", "Node.js program"},
	{"node-fetch", "Node.js program"},
	{"undici", "Node.js program"},
	{"axios", "Node.js program"},
	{"Deno", "Deno program"},
	{"Bun", "Bun program"},
	{"Java", "Java program"},
	{"Java-http-client", "Java program"},
	{"Apache-HttpClient", "Java program"},
	{"okhttp", "okhttp"},
	{"Ruby", "Ruby program"},
	{"GuzzleHttp", "PHP program"},
}

// forms are the words that say how large a device is.
var forms = [...]struct {
	word string
	form form
}{
	{"Mobile", phone},
	{"Mini", phone},
	{"Dalvik", phone}, // apps do not say it; most run on a phone
	{"Tablet", slate},
	{"SMART-TV", screen},
	{"SmartTV", screen},
	{"SMARTTV", screen},
	{"TV", screen},
	{"HbbTV", screen},
	{"GoogleTV", screen},
	{"BRAVIA", screen},
	{"CrKey", screen},
	{"OculusBrowser", screen},
}

// words holds all tables.
var words = index()

func index() map[string]*families {
	all := make(map[string]*families)
	at := func(word string) *families {
		if all[word] == nil {
			all[word] = new(families)
		}
		return all[word]
	}
	for i, b := range browsers {
		at(b.word).browser = family{i + 1, b.name}
	}
	for i, s := range systems {
		at(s.word).system = family{i + 1, s.name}
	}
	for _, p := range programs {
		at(p.word).program = p.name
	}
	for _, f := range forms {
		at(f.word).form |= f.form
	}
	return all
}
