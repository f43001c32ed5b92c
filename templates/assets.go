package templates

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"regexp"
	"strings"
)

//go:embed assets/*.js assets/presence.css
var assetFiles embed.FS

// scriptFiles are the modules of the script, each after those that it imports.
// They are served as one file, which a page has in one request and which
// compresses better.
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

// What is for those who read the source, and is not served: comments on lines of
// their own and after code, blanks around signs, and what joins the modules.
var (
	comments = regexp.MustCompile(`(?m)^\s*(//|/?\*).*\n| +// .*$`)
	joints   = regexp.MustCompile(`(?m)^import .*\n|^export `)
	blanks   = regexp.MustCompile(`("(?:\\.|[^"\\])*"|` + "`[^`]*`" + `)|\s*([{}()\[\];,=+*/<>?:&|!.]+)\s*`)
)

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
	var script strings.Builder
	for _, file := range scriptFiles {
		body := joints.ReplaceAllString(comments.ReplaceAllString(readAsset(file), ""), "")
		script.WriteString(blanks.ReplaceAllString(body, "$1$2")) // a string stays as it is
	}
	script.WriteString("export{connect};\n")
	all.script = add("presence", ".js", javascript, script.String())
	all.style = add("presence", ".css", "text/css; charset=utf-8", readAsset("presence.css"))
	all.byName[clientName] = asset{clientName, javascript, `export { connect } from "./` + all.script + "\";\n"}
	return all
}

func readAsset(file string) string {
	content, err := assetFiles.ReadFile("assets/" + file)
	if err != nil {
		panic(err) // embedded: it cannot fail
	}
	return string(content)
}
