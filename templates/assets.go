package templates

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"path"
	"regexp"
	"strings"
)

//go:embed assets/*.js assets/presence.css
var assetFiles embed.FS

// assetOrder names the assets, each after those that it imports.
var assetOrder = [...]string{"person.js", "roster.js", "stream.js", "presence.js", "presence.css"}

// An asset is a file as it is served. Its name holds a hash of its content, so
// that it may be cached for ever.
type asset struct {
	name        string // "presence.0a1b….js"
	contentType string
	body        string
}

// assets are the script and the style.
type assets struct {
	byName  map[string]asset
	script  string
	style   string
	modules []string // what the script imports
}

// commentLines are lines that hold nothing but a comment. They are for those
// who read the source, and are not served.
var commentLines = regexp.MustCompile(`(?m)^\s*(//|/?\*).*\n`)

// newAssets reads the files. The same files give the same names on every node.
func newAssets() *assets {
	all := &assets{byName: make(map[string]asset)}
	var names []string // old and new, for imports
	for _, file := range assetOrder {
		content, err := assetFiles.ReadFile("assets/" + file)
		if err != nil {
			panic(err) // embedded: it cannot fail
		}
		stem, ext := strings.TrimSuffix(file, path.Ext(file)), path.Ext(file)
		a := asset{contentType: "text/css; charset=utf-8", body: string(content)}
		if ext == ".js" {
			a.contentType = "text/javascript; charset=utf-8"
			a.body = strings.NewReplacer(names...).Replace(commentLines.ReplaceAllString(a.body, ""))
		}
		sum := sha256.Sum256([]byte(a.body))
		a.name = stem + "." + hex.EncodeToString(sum[:8]) + ext
		all.byName[a.name] = a
		names = append(names, `"./`+file+`"`, `"./`+a.name+`"`)
		switch {
		case file == "presence.js":
			all.script = a.name
		case ext == ".css":
			all.style = a.name
		default:
			all.modules = append(all.modules, a.name)
		}
	}
	return all
}
