package templates

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/js"
)

//go:embed assets/*.js assets/presence.css
var assetFiles embed.FS

// scriptFiles are the modules of the script, each after those that it imports.
// They are served as one file, which a page has in one request and which
// compresses better. Beside it stands detours.js, which few pages load.
var scriptFiles = [...]string{
	"person.js", "texts.js", "announce.js", "list.js",
	"roster.js", "link.js", "stream.js", "connect.js", "dots.js", "presence.js",
}

// An asset is a file as it is served. Its name holds a hash of its content, so
// that it may be cached for ever.
type asset struct {
	name        string // "presence.0a1b….js"
	contentType string
	body        string
}

// clientName is the name under which a site's own script imports the client,
// whatever the hash of the day: the module that the page has loaded already.
const clientName = "connect.js"

// assets are the script and the style.
type assets struct {
	byName map[string]asset
	script string
	style  string
}

// What joins the modules, which are one when they are served.
var joints = regexp.MustCompile(`(?m)^import .*\n|^export `)

// newAssets reads the files. The same files give the same names on every node.
func newAssets() *assets {
	all := &assets{byName: make(map[string]asset)}
	add := func(stem, ext, contentType, body string) string {
		sum := sha256.Sum256([]byte(body))
		name := stem + "." + hex.EncodeToString(sum[:8]) + ext
		all.byName[name] = asset{name, contentType, body}
		return name
	}
	const javascript = "text/javascript; charset=utf-8"
	detours := add("detours", ".js", javascript, minified(readAsset("detours.js")))
	var script strings.Builder
	script.WriteString("export const connect = (() => {") // in a function, all names can be made short
	for _, file := range scriptFiles {
		script.WriteString(joints.ReplaceAllString(readAsset(file), ""))
	}
	script.WriteString("return connect })();")
	all.script = add("presence", ".js", javascript,
		strings.Replace(minified(script.String()), `"./detours.js"`, `"./`+detours+`"`, 1))
	all.style = add("presence", ".css", "text/css; charset=utf-8", readAsset("presence.css"))
	all.byName[clientName] = asset{clientName, javascript, `export { connect } from "./` + all.script + "\";\n"}
	return all
}

// minified returns a script without what is for those who read it.
func minified(script string) string {
	var b strings.Builder
	o := js.Minifier{Version: 2022}
	if err := o.Minify(minify.New(), &b, strings.NewReader(script), nil); err != nil {
		panic(err) // embedded, and tested: it cannot fail
	}
	return b.String()
}

func readAsset(file string) string {
	content, err := assetFiles.ReadFile("assets/" + file)
	if err != nil {
		panic(err) // embedded: it cannot fail
	}
	return string(content)
}
