package templates

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"regexp"
	"strings"
	"sync"

	"github.com/rollcall-go/rollcall/internal/gzipped"
)

// go generate makes the five scripts in assets/built from the modules in assets.
//
//go:generate go test -run ^TestBuilt$ ./internal/built -update
//go:embed assets/built/*.js assets/*.css
var assetFiles embed.FS

// An asset is a file to be served. Its name has a hash of its content, so that browsers
// may cache it for ever.
type asset struct {
	name        string // "presence.0a1b….js"
	contentType string
	body        string
	packed      func() string // the body packed by gzip, or "" if that is not smaller
}

func newAsset(name, contentType, body string) asset {
	return asset{name, contentType, body, sync.OnceValue(func() string { return gzipped.Pack(body) })}
}

// clientName is the file from which a site's own script imports the client. Its name has no
// hash. It exports the client of the script that the page has loaded already.
const clientName = "connect.js"

// clientSignal is the end of the file clientName. Between its two parts goes the name of the
// script that sends signals. Browsers load that script with the first signal.
var clientSignal = [2]string{
	"const send = (...what) => import(", ").then(({ send }) => send(...what));\n" +
		"export const connect = (options) => Object.assign(followed(options), { signal: (...what) => send(options?.src, ...what) });\n",
}

// assets are the scripts and the style. script, texts and style are names of files.
type assets struct {
	byName  map[string]asset
	current map[string]string // names by the name without a hash, such as "presence.js"
	script  string
	texts   string // the texts of the script, in the language of the widgets; pages load them before the script
	style   string
}

// newAssets reads the files. Their names depend only on the files and the arguments, so all nodes
// of a site have the same names. texts are JSON. withPeople adds the options for people to the
// client, and the rules for people to the style. withFeeds adds the rules for feeds to the style.
func newAssets(groups []Group, texts []byte, withPeople, withFeeds bool) *assets {
	all := &assets{byName: make(map[string]asset), current: make(map[string]string)}
	add := func(stem, ext, contentType, body string) string {
		sum := sha256.Sum256([]byte(body))
		name := stem + "." + hex.EncodeToString(sum[:8]) + ext
		all.byName[name] = newAsset(name, contentType, body)
		all.current[stem+ext] = name
		return name
	}
	const javascript = "text/javascript; charset=utf-8"
	all.texts = add("texts", ".js", javascript, "globalThis.presenceTexts = "+string(texts)+";\n")
	people := add("people", ".js", javascript, readAsset("built/people.js"))
	inbox := add("inbox", ".js", javascript, readAsset("built/inbox.js"))
	signals := add("signals", ".js", javascript, readAsset("built/signals.js"))
	later := add("later", ".js", javascript,
		strings.NewReplacer(`"./people.js"`, `"./`+people+`"`, `"./inbox.js"`, `"./`+inbox+`"`, `"./signals.js"`, `"./`+signals+`"`).Replace(readAsset("built/later.js")))
	all.script = add("presence", ".js", javascript,
		strings.ReplaceAll(readAsset("built/presence.js"), `"./later.js"`, `"./`+later+`"`))
	style := readAsset("host.css") + "\n:root {\n" + readAsset("presence.css") + "\n" + readAsset("signals.css")
	if withPeople {
		style += "\n" + readAsset("people.css")
	}
	if withFeeds {
		style += "\n" + readAsset("inbox.css")
	}
	all.style = add("presence", ".css", "text/css; charset=utf-8", style+groupStyle(groups)+"}\n")
	client := `import { connect as base } from "./` + all.script + "\";\n"
	if withPeople {
		client += `import { withPeople } from "./` + people + "\";\nconst followed = withPeople(base);\n"
	} else {
		client += "const followed = base;\n"
	}
	client += clientSignal[0] + `"./` + signals + `"` + clientSignal[1]
	all.byName[clientName] = newAsset(clientName, javascript, client)
	return all
}

// hashed matches a name with a hash, of any version.
var hashed = regexp.MustCompile(`^([a-z]+)\.[0-9a-f]{8,64}(\.[a-z]+)$`)

// find returns the file with a name. lasts reports whether browsers may cache the file for ever.
// During a deploy, a page from a node of another version may ask for a hash that this node does
// not have. Then find returns the current file, which does not last. So the script must work with
// the markup of the previous release, and later.js, people.js and inbox.js must export what the
// scripts of that release import.
func (all *assets) find(name string) (a asset, lasts, ok bool) {
	if a, ok := all.byName[name]; ok {
		return a, name != clientName, true
	}
	if parts := hashed.FindStringSubmatch(name); parts != nil {
		a, ok = all.byName[all.current[parts[1]+parts[2]]]
	}
	return a, false, ok
}

func readAsset(file string) string {
	content, err := assetFiles.ReadFile("assets/" + file)
	if err != nil {
		panic(err) // embedded: it cannot fail
	}
	return string(content)
}
