package core_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/middleware/core"
	"github.com/rollcall-go/rollcall/presence"
)

// The label names the families of browser and system, without versions.
func TestLabels(t *testing.T) {
	for _, tt := range []struct{ agent, kind, label string }{
		// Desktop.
		{"Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0", "desktop", "Firefox on Linux"},
		{"Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0", "desktop", "Firefox on Linux"},
		{"Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:143.0) Gecko/20100101 Firefox/143.0", "desktop", "Firefox on Windows"},
		{"Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:143.0) Gecko/20100101 Firefox/143.0", "desktop", "Firefox on macOS"},
		{"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36", "desktop", "Chrome on Linux"},
		{"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36", "desktop", "Chrome on Windows"},
		{"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36", "desktop", "Chrome on macOS"},
		{"Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36", "desktop", "Chrome on ChromeOS"},
		{"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Ubuntu Chromium/80.0.3987.87 Chrome/80.0.3987.87 Safari/537.36", "desktop", "Chromium on Linux"},
		{"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/141.0.0.0 Safari/537.36", "other", "HeadlessChrome"},
		{"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15", "desktop", "Safari on macOS"},
		{"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0", "desktop", "Edge on Windows"},
		{"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/64.0.3282.140 Safari/537.36 Edge/18.17763", "desktop", "Edge on Windows"},
		{"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 OPR/124.0.0.0", "desktop", "Opera on Windows"},
		{"Opera/9.80 (Windows NT 6.1; U; en) Presto/2.8.131 Version/11.11", "desktop", "Opera on Windows"},
		{"Mozilla/5.0 (Windows NT 10.0; WOW64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Vivaldi/7.6.3797.63", "desktop", "Vivaldi on Windows"},
		{"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 YaBrowser/25.8.0.0 Safari/537.36", "desktop", "Yandex Browser on Windows"},
		{"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15 Ddg/18.5", "desktop", "DuckDuckGo on macOS"},
		{"Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko", "desktop", "Internet Explorer on Windows"},
		{"Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Trident/4.0; Tablet PC 2.0)", "desktop", "Internet Explorer on Windows"},
		{"Mozilla/5.0 (Windows NT 10.0; rv:68.0) Gecko/20100101 Firefox/68.0 PaleMoon/33.3.1", "desktop", "Pale Moon on Windows"},
		{"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0 SeaMonkey/2.53.21", "desktop", "SeaMonkey on Linux"},
		{"Mozilla/5.0 (X11; FreeBSD amd64; rv:140.0) Gecko/20100101 Firefox/140.0", "desktop", "Firefox on FreeBSD"},
		{"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15 Epiphany/605.1.15", "desktop", "GNOME Web on Linux"},
		{"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Slack/4.46.96 Chrome/140.0.0.0 Electron/38.1.0 Safari/537.36", "desktop", "Desktop app on macOS"},
		{"Lynx/2.9.0rel.1 libwww-FM/2.14 SSL-MM/1.4.1 GNUTLS/3.8.3", "other", "Lynx"},
		{"w3m/0.5.3+git20230121", "other", "w3m"},

		// Phones.
		{"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36", "mobile", "Chrome on Android"},
		{"Mozilla/5.0 (Android 15; Mobile; rv:144.0) Gecko/144.0 Firefox/144.0", "mobile", "Firefox on Android"},
		{"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36", "mobile", "Samsung Internet on Android"},
		{"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36 EdgA/142.0.0.0", "mobile", "Edge on Android"},
		{"Mozilla/5.0 (Linux; U; Android 13; en-us; Redmi Note 12 Build/TKQ1) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/112.0.5615.136 Mobile Safari/537.36 XiaoMi/MiuiBrowser/14.9.1-gn", "mobile", "Mi Browser on Android"},
		{"Mozilla/5.0 (Linux; U; Android 4.0.3; de-de; Galaxy S II Build/GRJ22) AppleWebKit/534.30 (KHTML, like Gecko) Version/4.0 Mobile Safari/534.30", "mobile", "Android Browser on Android"},
		{"Mozilla/5.0 (Linux; Android 14; Pixel 8 Build/UQ1A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/129.0.0.0 Mobile Safari/537.36", "mobile", "App on Android"},
		{"Mozilla/5.0 (Linux; Android 14; SM-S918B Build/UP1A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/130.0.0.0 Mobile Safari/537.36 Instagram 355.0.0.0 Android", "mobile", "Instagram on Android"},
		{"Opera/9.80 (Android; Opera Mini/36.2.2254/191.256; U; en) Presto/2.12.423 Version/12.16", "mobile", "Opera on Android"},
		{"Dalvik/2.1.0 (Linux; U; Android 14; Pixel 8 Build/UD1A.231105.004)", "mobile", "App on Android"},
		{"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1", "mobile", "Safari on iPhone"},
		{"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/142.0.7444.77 Mobile/15E148 Safari/604.1", "mobile", "Chrome on iPhone"},
		{"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) FxiOS/144.0 Mobile/15E148 Safari/605.1.15", "mobile", "Firefox on iPhone"},
		{"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) GSA/388.0 Mobile/15E148 Safari/604.1", "mobile", "Google app on iPhone"},
		{"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148", "mobile", "App on iPhone"},
		{"Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/22B83 [FBAN/FBIOS;FBAV/490.0.0.44;FBDV/iPhone15,2]", "mobile", "Facebook on iPhone"},
		{"Mozilla/5.0 (Mobile; Nokia_8110_4G; rv:48.0) Gecko/48.0 Firefox/48.0 KAIOS/2.5", "mobile", "Firefox on KaiOS"},
		{"Mozilla/5.0 (Windows Phone 10.0; Android 6.0.1; Microsoft; Lumia 950) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/52.0.2743.116 Mobile Safari/537.36 Edge/15.15063", "mobile", "Edge on Windows Phone"},

		// Tablets.
		{"Mozilla/5.0 (iPad; CPU OS 17_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.7 Mobile/15E148 Safari/604.1", "tablet", "Safari on iPad"},
		{"Mozilla/5.0 (Android 15; Tablet; rv:144.0) Gecko/144.0 Firefox/144.0", "tablet", "Firefox on Android"},
		{"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36", "tablet", "Chrome on Android"},
		{"Mozilla/5.0 (Linux; Android 11; KFTRWI) AppleWebKit/537.36 (KHTML, like Gecko) Silk/127.5.8 like Chrome/127.0.0.0 Safari/537.36", "tablet", "Silk on Android"},

		// Others.
		{"Mozilla/5.0 (SMART-TV; LINUX; Tizen 7.0) AppleWebKit/537.36 (KHTML, like Gecko) 94.0.4606.31/7.0 TV Safari/537.36", "other", "Safari on Tizen"},
		{"Mozilla/5.0 (Web0S; Linux/SmartTV) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/108.0.5359.211 Safari/537.36 WebAppManager", "other", "Chrome on webOS"},
		{"Mozilla/5.0 (PlayStation; PlayStation 5/9.00) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/15.4 Safari/605.1.15", "other", "Safari on PlayStation"},
		{"Mozilla/5.0 (Windows NT 10.0; Win64; x64; Xbox; Xbox Series X) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36 Edg/130.0.0.0", "other", "Edge on Xbox"},
		{"Mozilla/5.0 (X11; Linux x86_64; Quest 3) AppleWebKit/537.36 (KHTML, like Gecko) OculusBrowser/36.2 Chrome/130.0.0.0 VR Safari/537.36", "other", "Meta Quest Browser on Linux"},
		{"curl/8.14.1", "other", "curl"},
		{"Wget/1.25.0", "other", "Wget"},
		{"Go-http-client/2.0", "other", "Go program"},
		{"python-requests/2.32.5", "other", "Python program"},
		{"Python/3.12 aiohttp/3.10.5", "other", "Python program"},
		{"okhttp/5.1.0", "other", "okhttp"},
		{"PostmanRuntime/7.46.1", "other", "Postman"},
		{"node", "other", "Node.js program"},
		{"Java/21.0.4", "other", "Java program"},
		{"MyApp/12 CFNetwork/1568.100.1 Darwin/24.0.0", "other", "App on an Apple device"},
		{googlebot, "other", "Googlebot"},
		{"my-spider", "other", "Other bots"},
		{"", "other", "Unknown browser"},
		{"Mozilla/5.0", "other", "Unknown browser"},
		{"my own program", "other", "Unknown browser"},
		{"Linux", "desktop", "Unknown browser on Linux"},
		{"Firefox", "other", "Firefox"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("User-Agent", tt.agent)
		if kind, label := core.KindAndLabel(r); kind != tt.kind || label != tt.label {
			t.Errorf("%s: got %s, %q, want %s, %q", tt.agent, kind, label, tt.kind, tt.label)
		}
	}
}

// Client hints count where the user agent names no system, and nowhere else: a browser sends
// none with a WebSocket, whose label would differ from that of its page.
func TestLabelsByClientHints(t *testing.T) {
	const reduced = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
	for _, tt := range []struct{ agent, platform, mobile, kind, label string }{
		{reduced, `"Android"`, "?1", "mobile", "Chrome on Android"},
		{reduced, `"Android"`, "?0", "tablet", "Chrome on Android"},
		{reduced, `"Windows"`, "?0", "desktop", "Chrome on Windows"},
		{reduced, `"macOS"`, "?0", "desktop", "Chrome on macOS"},
		{reduced, `"Linux"`, "?0", "desktop", "Chrome on Linux"},
		{reduced, `"Chrome OS"`, "?0", "desktop", "Chrome on ChromeOS"},
		{reduced, `"iOS"`, "?1", "mobile", "Chrome on iOS"},
		{reduced, `"Unknown"`, "?1", "mobile", "Chrome"},
		{reduced, `"<b>"`, "?2", "other", "Chrome"},
		{"", `"Windows"`, "", "desktop", "Unknown browser on Windows"},
		{"Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0", `"Android"`, "?1", "desktop", "Firefox on Linux"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("User-Agent", tt.agent)
		r.Header.Set("Sec-CH-UA-Platform", tt.platform)
		r.Header.Set("Sec-CH-UA-Mobile", tt.mobile)
		if kind, label := core.KindAndLabel(r); kind != tt.kind || label != tt.label {
			t.Errorf("%s %s: got %s, %q, want %s, %q", tt.platform, tt.mobile, kind, label, tt.kind, tt.label)
		}
	}
}

// A label is made of the tables alone, whatever a client says.
func TestHostileUserAgents(t *testing.T) {
	for name, agent := range map[string]string{
		"a megabyte":         strings.Repeat("Firefox Linux ", 1<<20/14),
		"a megabyte of none": strings.Repeat("x", 1<<20),
		"control characters": "Firefox\x00\x1e\x1b[31m (Linux)\r\nSet-Cookie: a=b",
		"HTML":               `<script>alert("Chrome")</script><img src=x onerror=alert(1)>`,
		"not UTF-8":          "\xff\xfe Safari \xc0\x80",
		"right to left":      "\u202eFirefox\u202c Windows",
		"a name in a name":   "NotFirefox/1 (Linuxes)",
		"half a name":        strings.Repeat(" ", 509) + "Firefox",
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header["User-Agent"] = []string{agent}
		r.Header["Sec-Ch-Ua-Platform"] = []string{agent}
		kind, label := core.KindAndLabel(r)
		if err := (presence.Device{Kind: kind, Label: label}).Validate(); err != nil || label == "" {
			t.Errorf("%s: got %q, %q, which is not valid: %v", name, kind, label, err)
		}
		browser, system, _ := strings.Cut(label, " on ")
		for _, part := range []string{browser, system} {
			if part != "" && part != "Unknown browser" && !slices.Contains(core.LabelNames(), part) {
				t.Errorf("%s: got label %q, whose part %q is in no table", name, label, part)
			}
		}
	}
}

func FuzzLabel(f *testing.F) {
	f.Add("Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0", `"Linux"`)
	f.Fuzz(func(t *testing.T, agent, platform string) {
		r := &http.Request{Header: http.Header{"User-Agent": {agent}, "Sec-Ch-Ua-Platform": {platform}}}
		kind, label := core.KindAndLabel(r)
		for _, b := range []byte(label) {
			if b < ' ' || b > '~' || strings.IndexByte(`"<>&\`, b) >= 0 {
				t.Fatalf("%q: got label %q, want plain ASCII", agent, label)
			}
		}
		if err := (presence.Device{Kind: kind, Label: label}).Validate(); err != nil || label == "" {
			t.Errorf("%q: got %q, %q: %v", agent, kind, label, err)
		}
	})
}

// Two rows with one word would hide one of them, and each word is one that the reader of a
// user agent finds.
func TestTablesOfLabels(t *testing.T) {
	browserWords, systemWords, programWords := core.LabelWords()
	for _, words := range [][]string{browserWords, systemWords, programWords} {
		for i, word := range words {
			if slices.Contains(words[:i], word) {
				t.Errorf("%q is there twice", word)
			}
			if strings.ContainsAny(word, " /.;()") {
				t.Errorf("%q is more than a word", word)
			}
		}
	}
	for _, a := range core.LabelNames() {
		if len("Meta Quest Browser on ")+len(a) > presence.MaxDeviceLabelLen {
			t.Errorf("the label of %q may be too long", a)
		}
	}
}
