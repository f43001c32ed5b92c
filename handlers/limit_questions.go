package handlers

import (
	"net/http"

	"github.com/rollcall-go/rollcall/presence"
)

// questionsPerToken is how many calls of Config.Authorize one read token pays for. The token of the request
// itself pays for the first ones.
const questionsPerToken = 20

// A purse pays for the calls of Config.Authorize in one request with the read tokens of its visitor: a request
// about 1,000 topics counts as 50.
type purse struct {
	limits  *limits
	request *http.Request
	visitor presence.Visitor
	asked   int
}

// pays counts n more calls, and reports whether the visitor may cause them. Topics about which the site is not
// asked are free.
func (p *purse) pays(n int) bool {
	if !p.limits.site.cfg.hasAuthorize {
		return true
	}
	for range n {
		if p.asked++; p.asked > 1 && p.asked%questionsPerToken == 1 && p.limits.overRate(p.request, p.visitor) {
			return false
		}
	}
	return true
}
