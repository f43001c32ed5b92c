package core_test

import (
	"bufio"
	"encoding/json"
	"os"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/middleware/core"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// The list is that of crawler-user-agents, an npm package that is kept well. The test checks the form of
// crawlers.txt. With CRAWLER_USER_AGENTS, the path of a newer crawler-user-agents.json, it writes the file first.
func TestCrawlerList(t *testing.T) {
	if path := os.Getenv("CRAWLER_USER_AGENTS"); path != "" {
		writeCrawlers(t, path)
	}
	lines := linesOf(t, "crawlers.txt")
	if len(lines) < 1_000 {
		t.Errorf("got %d crawlers, want more than 1,000", len(lines))
	}
	if !slices.IsSortedFunc(lines, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) }) {
		t.Error("the lines are not sorted, so a newer list makes a large diff")
	}
	for _, line := range lines {
		word, name, renamed := strings.Cut(line, "\t")
		if !renamed {
			name = word
		}
		if len(word) < 3 || !backend.ValidBotName(name) {
			t.Errorf("%q: want a word of 3 bytes or more, and the name of a bot", line)
		}
		if got := core.CrawlerName(word); got == "" {
			t.Errorf("%q is not found by its own word", line)
		}
	}
}

// leftOut are patterns of the list that are not taken.
var leftOut = []string{
	// Tools that speak HTTP. They stay guests, if they keep cookies.
	`[wW]get`, `Python-urllib`, `python-requests`, `aiohttp`, `httpx`, `libwww-perl`, `httpunit`, `Go-http-client`, `Pcore-HTTP`, `okhttp`, `AHC\/`,
	`^Apache-HttpClient`, `Jetty`, `http_get`, `axios`, `HttpUrlConnection`, `AnyEvent`, `^curl`, `^PHP-Curl-Class`, `node-fetch`, `sindresorhus\/got`,
	`[mM]echanize`, `CustomAsyncHttpClient`, `^HTTPie\/`, `lwp-trivial`,
	// Programs in which people read pages: Slack's and Viber's windows, Fluid, editors, an Android of which
	// many phones have that very build, Facebook's, Tumblr's and Notion's browsers, those of Sogou and Amazon, and a toolbar.
	`Sonic`, `Fluid`, `Trae\/`, `Viber`, `Code\/1\.`, `AP3A\.240617\.008`, `MetaIAB Facebook`, `Notion\/`, `Sogou`, `^Silk\/`, `Tumblr\/`, `Teoma`,
	// Words that phones and other programs have too. The crawlers say "spider" or an URL as well.
	`Butterfly`, `speedy`, `^LCC `, `Current[\s\S]*RSS Reader`, `Spider[\s\S]*spider\.com`, `Fetch\/`,
}

// added are crawlers that the list lacks: programs that drive a browser, and those of leftOut by a longer word.
var added = []string{"Cypress/", "SlimerJS", "CasperJS", "WebDriver", "Sogou web spider", "Sogou inst spider", "Sogou Pic Spider", "Sogou News Spider"}

// writeCrawlers writes crawlers.txt.
func writeCrawlers(t *testing.T, path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Pattern   string
		Instances []string
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	spelt := make(map[string]string) // the words by their lower case
	for _, word := range added {
		spelt[strings.ToLower(word)] = word
	}
	for _, c := range list {
		if slices.Contains(leftOut, c.Pattern) {
			continue
		}
		re, err := syntax.Parse(c.Pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		words, _ := literals(re)
		for _, word := range words {
			word = strings.Trim(word, " ;")
			lower := strings.ToLower(word)
			if len(word) < 3 {
				t.Fatalf("%s has no word of three bytes", c.Pattern)
			}
			for _, agent := range append(c.Instances, word) { // the spelling that the crawler itself has
				if at := strings.Index(strings.ToLower(agent), lower); at >= 0 && capitals(agent[at:at+len(lower)]) >= capitals(spelt[lower]) {
					spelt[lower] = agent[at : at+len(lower)]
				}
			}
		}
	}
	var lines []string
	for _, word := range spelt {
		name := strings.TrimPrefix(word, "https://")
		name, _, _ = strings.Cut(name, "/")
		name = strings.Trim(strings.ReplaceAll(name, "'", ""), " ;()")
		name = strings.TrimSpace((strings.ToUpper(name[:1]) + name[1:])[:min(len(name), backend.MaxBotName)])
		if name != word {
			word += "\t" + name
		}
		lines = append(lines, word)
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	text := "# Words of crawlers' user agents, and after a tab the name of the crawler where it is not the word itself.\n" +
		"# Made by TestCrawlerList of crawler-user-agents, https://github.com/monperrus/crawler-user-agents: see crawlers.LICENSE.\n"
	if err := os.WriteFile("crawlers.txt", []byte(text+strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Log(len(lines), "words. Rebuild the test: the file is embedded.")
}

func capitals(s string) (n int) {
	for _, r := range s {
		if 'A' <= r && r <= 'Z' {
			n++
		}
	}
	return n
}

// literals returns the texts that a regular expression matches, up to the first part of it that is none. whole
// is false if there is such a part.
func literals(re *syntax.Regexp) (texts []string, whole bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{string(re.Rune)}, true
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1] && len(texts) < 10; r++ {
				texts = append(texts, string(r))
			}
		}
		return texts, len(texts) < 10
	case syntax.OpBeginText, syntax.OpEndText, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpEmptyMatch:
		return []string{""}, true
	case syntax.OpCapture:
		return literals(re.Sub[0])
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			some, ok := literals(sub)
			if !ok {
				return nil, false
			}
			texts = append(texts, some...)
		}
		return texts, true
	case syntax.OpConcat:
		texts = []string{""}
		for _, sub := range re.Sub {
			ends, ok := literals(sub)
			if !ok {
				return texts, false
			}
			var longer []string
			for _, text := range texts {
				for _, end := range ends {
					longer = append(longer, text+end)
				}
			}
			texts = longer
		}
		return texts, true
	}
	return nil, false
}

// linesOf returns the lines of a file but those that begin with #.
func linesOf(t *testing.T, name string) (lines []string) {
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for in := bufio.NewScanner(file); in.Scan(); {
		if line := in.Text(); !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}
