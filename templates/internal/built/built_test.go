// Package built_test makes the files in templates/assets/built. It is beside templates, and
// not in it, because the go.sum of a site has what the tests of its packages import.
package built_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/js"
)

var update = flag.Bool("update", false, "write the files")

// The script is written as modules and served as five files, in assets/built. So a site
// needs neither a minifier nor node, and the names of the files do not depend on the
// versions of such tools.
//
// The last module of a list is after those that it imports.
var (
	// baseModules are loaded by every page. gzip does best with this order.
	baseModules = []string{"link.js", "election.js", "lead.js", "stream.js", "feeds.js", "connect.js", "roster.js", "texts.js", "presence.js"}
	// laterModules are loaded by the pages that need one of them.
	laterModules = []string{"asking.js", "complaints.js", "detours.js", "announce.js", "dots.js", "parts.js", "marks.js", "serve.js", "list_post.js", "person.js", "still.js", "list.js"}
	// peopleModules are loaded by the pages of sites with people that show any.
	peopleModules = []string{"people.js"}
	// signalModules are loaded by the pages that show who is typing or editing.
	signalModules = []string{"words.js", "typists.js", "typist.js", "typing.js", "editors.js", "signals.js"}
	// inboxModules are loaded by the pages that show a bell, notifications or a room.
	inboxModules = []string{"items.js", "slots.js", "attend.js", "still.js", "bell.js", "notes.js", "room.js", "inbox.js"}
)

// internalNames are properties that only baseModules use, under names that stand nowhere
// else in baseModules and laterModules, also in no class of an element. The minifier cannot know that, and keeps all names of properties.
var internalNames = []string{"launch", "onEvent", "tabs", "watchers", "input", "reset", "pause", "onLive", "apply", "become", "feeds", "serve", "unwatch", "tell", "hold", "lacks", "attend", "hear",
	"want", "follow", "token", "renew", "post", "link", "query", "look", "arrived", "doubt"}

const assets = "../../assets"

// letters are what internalNames become.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_$"

var (
	imports  = regexp.MustCompile(`(?m)^import .*\n`)
	literals = regexp.MustCompile(`"[^"\n]*"`)
	exports  = regexp.MustCompile(`(?m)^export (async )?(function|class|const) (\w+)`)
	privates = regexp.MustCompile(`#[a-z]\w*`)
	numbers  = regexp.MustCompile(`(?m)^const ([A-Z_]+) = ([0-9_]+);.*\n`)
)

// joined returns modules as one, which exports names. The short names become letters. The whole is in a function, so that
// the minifier can shorten all names.
func joined(t *testing.T, modules, names, short []string) string {
	t.Helper()
	var b strings.Builder
	for _, module := range modules {
		source, err := os.ReadFile(filepath.Join(assets, module))
		noError(t, err)
		text := imports.ReplaceAllString(string(source), "")
		for _, constant := range numbers.FindAllStringSubmatch(text, -1) { // one module at a time: two modules may use the same name
			text = strings.Replace(text, constant[0], "", 1)
			text = regexp.MustCompile(`\b`+constant[1]+`\b`).ReplaceAllString(text, constant[2])
		}
		for _, module := range laterModules { // before the short names, which may be words of a file's name
			text = strings.ReplaceAll(text, `import("./`+module+`")`, `import("./later.js")`)
		}
		for i, name := range short {
			for _, quoted := range literals.FindAllString(text, -1) {
				if words := strings.Fields(strings.Trim(quoted, `"`)); len(words) > 2 && slices.Contains(words, name) {
					t.Errorf("%s: %s has the word %q, which becomes a letter", module, quoted, name)
				}
			}
			text = regexp.MustCompile(`\b`+name+`\b`).ReplaceAllLiteralString(text, string(letters[i]))
		}
		private := map[string]string{} // of the module's classes
		text = privates.ReplaceAllStringFunc(text, func(name string) string {
			if private[name] == "" {
				private[name] = "#" + string(rune('a'+len(private)))
			}
			return private[name]
		})
		b.WriteString(exports.ReplaceAllString(text, "$1$2 $3"))
	}
	text := b.String()
	text = strings.ReplaceAll(text, "const ", "let ") // one keyword compresses better than two
	if len(names) == 1 {
		return "export const " + names[0] + " = (() => {" + text + "return " + names[0] + " })();"
	}
	all := strings.Join(names, ", ")
	return "export const { " + all + " } = (() => {" + text + "return { " + all + " } })();"
}

// minified returns a script without comments and long names.
func minified(t *testing.T, script string) string {
	t.Helper()
	var b strings.Builder
	o := js.Minifier{Version: 2022}
	noError(t, o.Minify(minify.New(), &b, strings.NewReader(script), nil))
	return b.String()
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The files in assets/built are up to date with the modules. After a change of a module:
//
//	go generate ./templates
func TestBuilt(t *testing.T) {
	scripts := map[string]string{
		"presence.js": joined(t, baseModules, []string{"connect"}, internalNames),
		"later.js":    joined(t, laterModules, []string{"detours", "explain", "tidings", "mark", "postList", "host", "userList"}, internalNames),
		"people.js":   joined(t, peopleModules, []string{"withPeople", "peopleOf"}, nil),
		"signals.js":  joined(t, signalModules, []string{"signalsOf", "send"}, nil),
		"inbox.js":    joined(t, inboxModules, []string{"inboxOf"}, nil),
	}
	for name, built := range scripts {
		want := minified(t, built)
		for _, loaded := range regexp.MustCompile(`import\("\./(.*?)"\)`).FindAllStringSubmatch(want, -1) {
			if scripts[loaded[1]] == "" {
				t.Errorf("%s loads %s, which is none of the files", name, loaded[1])
			}
		}
		file := filepath.Join(assets, "built", name)
		if *update {
			noError(t, os.WriteFile(file, []byte(want), 0o644))
		}
		got, err := os.ReadFile(file)
		noError(t, err)
		if string(got) != want {
			t.Errorf("%s is out of date: run go generate ./templates", file)
		}
	}
}
