package templates

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"html/template"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// headParts are what the heads of all pages have in common.
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

// head returns the links of a page's head, and what the script must know: among it the
// page's user, so that pages of two users in one browser share nothing.
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

// withNonce returns a link to a style or a script with the nonce of the page's policy; "": none.
func withNonce(link template.HTML, nonce string) template.HTML {
	if nonce == "" {
		return link
	}
	at := startTagEnd(link)
	return link[:at] + ` nonce="` + escaped(nonce) + `"` + link[at:]
}

// lateElements returns the selector of the elements that want more of the page's connection than
// the users of a topic. A page that has one connects when the script of that element is there.
// With [data-people] in it, elements that show a user show what this visitor may see of people.
func (ws *workshop) lateElements(visitor presence.Visitor) string {
	if ws.site.Directory != nil && visitor.SignedIn() {
		return "[data-people],online-dot,last-seen,[data-feed]"
	}
	return "online-dot,last-seen,[data-feed]" // a guest may follow rooms
}

// tenantTag returns what tells the pages of one tenant from those of others in the names of
// the browser's locks: two tenants may have one origin. It is empty for the empty tenant, and
// is never sent to the server.
func tenantTag(tenant string) string {
	if tenant == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("rollcall tenant " + tenant))
	return hex.EncodeToString(sum[:6])
}

func escaped(text string) template.HTML { return template.HTML(template.HTMLEscapeString(text)) }

// startTagEnd returns where the start tag of an element ends, for one more attribute. In the
// attributes of this package's elements > is escaped.
func startTagEnd(element template.HTML) int {
	return strings.IndexByte(string(element), '>')
}
