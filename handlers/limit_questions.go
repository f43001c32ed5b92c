package handlers

import (
	"net/http"

	"github.com/rollcall-go/rollcall/presence"
)

// questionsPerToken is how many questions to Config.Authorize one token of reads pays for. A
// request brings its own token.
const questionsPerToken = 20

// A purse pays for the questions of one request out of the reads of its visitor: a request that
// asks the site about 1,000 topics counts as 50.
type purse struct {
	limits  *limits
	request *http.Request
	visitor presence.Visitor
	asked   int
}

// pays counts n more questions, and reports whether the visitor may have them asked. Questions
// that the site does not hear are free.
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
