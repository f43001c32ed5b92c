package core

import (
	"bytes"
	"cmp"
	_ "embed"
	"strings"
	"sync"

	"github.com/rollcall-go/rollcall/presence/backend"
)

// maxUserAgent bounds what is read of a user agent, in bytes.
const maxUserAgent = 512

// A crawler is a line of crawlers.txt.
type crawler struct {
	word []byte // of the user agent, in lower case
	name string
}

//go:embed crawlers.txt
var crawlerList string

// crawlers are the lines of crawlers.txt, by a hash of the first three bytes of their words.
var crawlers = sync.OnceValue(func() *[1 << 13][]crawler {
	all := new([1 << 13][]crawler)
	for line := range strings.Lines(crawlerList) {
		word, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if word == "" || word[0] == '#' {
			continue
		}
		c := crawler{bytes.ToLower([]byte(word)), cmp.Or(name, word)}
		at := hash3(c.word)
		all[at] = append(all[at], c)
	}
	return all
})

func hash3(b []byte) uint16 { return (uint16(b[0])*31*31 + uint16(b[1])*31 + uint16(b[2])) % (1 << 13) }

// crawlerName returns the name by which a crawler is counted, and "" for any other visitor. Anybody can call a
// program Googlebot, so the name is only what the program says. Where a user agent has several words of the
// list, the longest one counts: "Googlebot-Image", and not "Googlebot".
func crawlerName(userAgent string) string {
	var buffer [maxUserAgent]byte
	agent := buffer[:copy(buffer[:], userAgent)]
	for i, c := range agent {
		if 'A' <= c && c <= 'Z' {
			agent[i] = c + 'a' - 'A'
		}
	}
	var found crawler
	list := crawlers()
	for i := range len(agent) - 2 {
		if !isAlphanumeric(agent[i]) || i > 0 && isAlphanumeric(agent[i-1]) {
			continue // no word begins here
		}
		for _, c := range list[hash3(agent[i:])] {
			if len(c.word) > len(found.word) && bytes.HasPrefix(agent[i:], c.word) {
				found = c
			}
		}
	}
	if found.name == "" && saysCrawler(agent) {
		return backend.OtherBots
	}
	return found.name
}

func isAlphanumeric(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

// saysCrawler reports whether a user agent in lower case declares itself a crawler that is not in the list: by
// one of the usual words, or by the URL of a page about it, which no browser has. Tools such as curl have
// neither. They seldom keep cookies; one that does acts for a person.
func saysCrawler(agent []byte) bool {
	for _, word := range [...]string{"crawl", "spider", "headless", "://"} {
		if bytes.Contains(agent, []byte(word)) {
			return true
		}
	}
	for {
		before, after, found := bytes.Cut(agent, []byte("bot"))
		if !found {
			return false
		}
		agent = bytes.TrimPrefix(after, []byte("s"))
		inWord := len(agent) > 0 && 'a' <= agent[0] && agent[0] <= 'z' // as in "Caboto"
		if !inWord && !bytes.HasSuffix(before, []byte("cu")) {         // CUBOT is a brand of telephones
			return true
		}
	}
}
