package core

import "strings"

// isCrawler reports whether a user agent declares itself a crawler: by one of the usual
// words, or by the URL of a page about it, which no browser has. Tools such as curl have
// neither. They seldom keep cookies; one that does acts for a person.
func isCrawler(userAgent string) bool {
	for i := range len(userAgent) {
		if !beginsCrawler[userAgent[i]] {
			continue
		}
		rest, word := userAgent[i:], ""
		switch rest[0] {
		case 'b', 'B':
			if word = "bot"; strings.HasSuffix(userAgent[:i], "CU") {
				continue // CUBOT is a brand of telephones
			}
		case 'c', 'C':
			word = "crawl"
		case 's', 'S':
			word = "spider"
		case 'm', 'M':
			word = "mediapartners-google"
		case 'g', 'G':
			word = "google-inspectiontool"
		case ':':
			word = "://"
		}
		if len(rest) >= len(word) && strings.EqualFold(rest[:len(word)], word) {
			return true
		}
	}
	return false
}

// beginsCrawler has the bytes with which the words of isCrawler begin. Few bytes of a user agent are among
// them, so isCrawler skips most of it quickly.
var beginsCrawler = [256]bool{
	'b': true, 'B': true, 'c': true, 'C': true, 's': true, 'S': true,
	'm': true, 'M': true, 'g': true, 'G': true, ':': true,
}

// otherBots is the name of crawlers that are not in crawlers.
const otherBots = "Other bots"

// maxUserAgent bounds what crawlerName reads of a user agent, in bytes.
const maxUserAgent = 512

// crawlerName returns the name by which a crawler is counted: one of a fixed number.
// Anybody can call a program Googlebot, so the name is only what the program says.
func crawlerName(userAgent string) string {
	userAgent = strings.ToLower(userAgent[:min(len(userAgent), maxUserAgent)])
	for _, c := range crawlers {
		if strings.Contains(userAgent, c.word) {
			return c.name
		}
	}
	return otherBots
}

// crawlers are the names of crawlers, each with a word of its user agent in lower case. The
// first that fits counts.
var crawlers = [...]struct{ word, name string }{
	{"adsbot-google", "Google AdsBot"},
	{"mediapartners-google", "Google AdSense"},
	{"google-inspectiontool", "Google Inspection"},
	{"googleother", "GoogleOther"},
	{"googlebot", "Googlebot"},
	{"bingbot", "Bingbot"},
	{"bingpreview", "Bingbot"},
	{"duckduckbot", "DuckDuckBot"},
	{"duckassistbot", "DuckAssistBot"},
	{"yandex", "YandexBot"},
	{"baiduspider", "Baiduspider"},
	{"applebot", "Applebot"},
	{"slurp", "Yahoo Slurp"},
	{"sogou", "Sogou"},
	{"petalbot", "PetalBot"},
	{"seznambot", "SeznamBot"},
	{"qwantbot", "Qwantbot"},
	{"facebookexternalhit", "Facebook"},
	{"facebot", "Facebook"},
	{"meta-external", "Meta AI"},
	{"twitterbot", "Twitterbot"},
	{"linkedinbot", "LinkedInBot"},
	{"pinterest", "Pinterestbot"},
	{"slackbot", "Slackbot"},
	{"discordbot", "Discordbot"},
	{"telegrambot", "TelegramBot"},
	{"mastodon", "Mastodon"},
	{"oai-searchbot", "OAI-SearchBot"},
	{"chatgpt-user", "ChatGPT"},
	{"gptbot", "GPTBot"},
	{"claude-user", "Claude"},
	{"claude-searchbot", "Claude-SearchBot"},
	{"claudebot", "ClaudeBot"},
	{"perplexity", "PerplexityBot"},
	{"mistralai", "MistralAI"},
	{"amazonbot", "Amazonbot"},
	{"bytespider", "Bytespider"},
	{"ccbot", "CCBot"},
	{"ahrefsbot", "AhrefsBot"},
	{"semrushbot", "SemrushBot"},
	{"mj12bot", "MJ12bot"},
	{"dotbot", "DotBot"},
	{"dataforseobot", "DataForSeoBot"},
	{"archive.org_bot", "Internet Archive"},
	{"ia_archiver", "Internet Archive"},
	{"uptimerobot", "UptimeRobot"},
}
