package templates

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"html/template"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// headParts are the links that are the same in the heads of all pages.
type headParts struct {
	style, texts, script template.HTML // links
}

func (ws *workshop) newHeadParts() (h headParts, err error) {
	if h.style, err = ws.render("style", ws.prefix+"/assets/"+ws.assets.style); err != nil {
		return h, err
	}
	if h.texts, err = ws.render("script", ws.prefix+"/assets/"+ws.assets.texts); err != nil {
		return h, err
	}
	h.script, err = ws.render("script", ws.prefix+"/assets/"+ws.assets.script)
	return h, err
}

// head returns the links of a page's head, and a <meta> with what the script must know. The
// <meta> names the page's user, so that pages of two users in one browser share no connection.
func (ws *workshop) head(t knownTopic, visitor presence.Visitor, nonce string) (template.HTML, error) {
	var cursor presence.Cursor
	if t.view != nil {
		cursor = t.view.PageCursor(0)
	}
	page, err := json.Marshal(struct {
		Src    string          `json:"src"`
		Me     presence.UserID `json:"me"`
		Topic  presence.Topic  `json:"topic"`
		Cursor presence.Cursor `json:"cursor"`
		People string          `json:"people,omitempty"`
		Tenant string          `json:"tenant,omitempty"`
		App    string          `json:"app,omitempty"`
	}{ws.prefix, visitor.User.ID.Local(), t.topic.Local(), cursor, ws.lateElements(visitor), tenantTag(visitor.Tenant), ws.cfg.App})
	if err != nil {
		return "", err
	}
	return `<meta name="presence" content="` + escaped(string(page)) + `">` + "\n" +
		withNonce(ws.headParts.style, nonce) + "\n" + withNonce(ws.headParts.texts, nonce) + "\n" + withNonce(ws.headParts.script, nonce), nil
}

// withNonce returns a link to a style or a script with the nonce of the page's
// Content-Security-Policy, or the same link if the nonce is empty.
func withNonce(link template.HTML, nonce string) template.HTML {
	if nonce == "" {
		return link
	}
	at := startTagEnd(link)
	return link[:at] + ` nonce="` + escaped(nonce) + `"` + link[at:]
}

// lateElements returns the selector of the elements for which the page's connection needs more than
// the rosters of topics. A page with such an element connects once the element's script has loaded.
// If the selector has [data-people], dots and times of last seen show what this visitor may see.
func (ws *workshop) lateElements(visitor presence.Visitor) string {
	if ws.site.Directory != nil && visitor.SignedIn() {
		return "[data-people],online-dot,last-seen,[data-feed]"
	}
	return "online-dot,last-seen,[data-feed]" // a guest may follow rooms
}

// tenantTag returns a hash of a tenant. It is part of the names of the browser's locks, so that
// pages of two tenants with one origin share no connection. It is empty for the empty tenant, and
// is never sent to the server.
func tenantTag(tenant string) string {
	if tenant == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("rollcall tenant " + tenant))
	return hex.EncodeToString(sum[:6])
}

func escaped(text string) template.HTML { return template.HTML(template.HTMLEscapeString(text)) }

// startTagEnd returns the position of the > that ends the start tag of an element. It is the first
// >, because the attributes of this package's elements are escaped.
func startTagEnd(element template.HTML) int {
	return strings.IndexByte(string(element), '>')
}
