package main

import (
	"encoding/json"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// A page is one view of the page that is examined.
type page struct {
	answer
	shows  bool     // it shows presence
	src    string   // where its widget looks for the endpoints
	me     string   // the user whom it names
	topics []string // that its elements follow, 16 at most
	assets []string // its script and its style
	guest  string   // the random half of the id in the presence cookie that it set; empty: it set none
	stamp  int64    // the time in that cookie, Unix milliseconds; 0: none
}

// maxTopics is how many topics one stream may have by default.
const maxTopics = 16

var (
	comment   = regexp.MustCompile(`(?s)<!--.*?-->`)
	element   = regexp.MustCompile(`(?i)<(whos-online|online-count|online-dot|last-seen|meta|script|link)((?:\s+[^\s=>"']+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>"']+))?)*)\s*/?>`)
	attribute = regexp.MustCompile(`([^\s=>"']+)\s*=\s*("[^"]*"|'[^']*'|[^\s>"']+)`)
	asset     = regexp.MustCompile(`/assets/presence\.[0-9a-f]{8,64}\.(?:js|css)$`)
	throttle  = regexp.MustCompile(`^([0-9a-z]{1,12})\.([A-Za-z0-9_-]{8})[A-Za-z0-9_-]{8}\.(?:-|[0-9a-z]{1,7})$`)
)

// read finds what a page says of presence.
func read(a answer) *page {
	p := &page{answer: a}
	dots := false
	for _, found := range element.FindAllStringSubmatch(comment.ReplaceAllString(string(a.body), ""), -1) {
		attrs := attributes(found[2])
		switch name := strings.ToLower(found[1]); name {
		case "meta":
			p.readHead(attrs)
		case "script", "link":
			if to := attrs["src"] + attrs["href"]; asset.MatchString(to) && !slices.Contains(p.assets, to) && len(p.assets) < 4 {
				p.assets = append(p.assets, to)
			}
		default:
			p.shows = true
			dots = dots || name == "online-dot" || name == "last-seen"
			p.follow(attrs["topic"])
			if p.src == "" {
				p.src = attrs["src"]
			}
			if p.me == "" {
				p.me = attrs["me"]
			}
		}
	}
	if dots || len(p.topics) == 0 {
		p.follow(string(presence.Site))
	}
	p.guest, p.stamp = throttleCookie(a.header)
	return p
}

// readHead reads the element with which the script begins.
func (p *page) readHead(attrs map[string]string) {
	var head struct{ Src, Me string }
	if attrs["name"] != "presence" || json.Unmarshal([]byte(attrs["content"]), &head) != nil {
		return
	}
	p.shows = true
	if head.Src != "" {
		p.src = head.Src
	}
	if head.Me != "" {
		p.me = head.Me
	}
}

// follow adds a topic. What is none is left out: the page is not to be trusted.
func (p *page) follow(topic string) {
	if t, err := presence.ParseTopic(topic); err == nil && !slices.Contains(p.topics, string(t)) && len(p.topics) < maxTopics {
		p.topics = append(p.topics, string(t))
	}
}

func attributes(text string) map[string]string {
	all := make(map[string]string)
	for _, found := range attribute.FindAllStringSubmatch(text, -1) {
		name := strings.ToLower(found[1])
		if _, known := all[name]; !known {
			all[name] = html.UnescapeString(strings.Trim(found[2], `"'`))
		}
	}
	return all
}

// idLen is how much of a browser's id names the browser. The rest is a signature, which
// changes when a guest comes back and counts.
const idLen = 8

// throttleCookie finds the presence cookie that a response sets, by its form: the site may
// give it another name. Of the id it returns the random half: the other half is a signature,
// which changes when a new browser has brought its cookie back.
func throttleCookie(header http.Header) (id string, stamp int64) {
	for _, line := range header["Set-Cookie"] {
		if c, err := http.ParseSetCookie(line); err == nil {
			if parts := throttle.FindStringSubmatch(c.Value); parts != nil {
				return parts[2][:min(idLen, len(parts[2]))], parse36(parts[1])
			}
		}
	}
	return "", 0
}

// mayBeShared reports whether a page says that a cache may hand it to several visitors.
func (p *page) mayBeShared() bool {
	shared := false
	for _, line := range p.header["Cache-Control"] {
		for directive := range strings.SplitSeq(line, ",") {
			name, _, _ := strings.Cut(strings.TrimSpace(directive), "=")
			switch strings.ToLower(name) {
			case "private", "no-store":
				return false
			case "public", "s-maxage", "max-age":
				shared = true
			}
		}
	}
	return shared
}
