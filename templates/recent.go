package templates

import (
	"context"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence/backend"
)

// recentlyActive renders who was active in a topic lately.
func (e *partElements) recentlyActive(topic any, options ...any) (template.HTML, error) {
	f := fragment{part: "recent", max: maxNames}
	f, err := f.of(e.visit, topic)
	if err != nil {
		return "", err
	}
	if f, err = f.with("recentlyActive", options, "max", "within"); err != nil {
		return "", err
	}
	return e.part(f)
}

// of returns f for the topic that a template gives, which may be of any type.
func (f fragment) of(v *visit, topic any) (fragment, error) {
	parsed, err := v.topicOf(topic)
	f.topic = parsed
	return f, err
}

// recent renders the content of the part "recent": the names, and when each user was active last.
func (e *partElements) recent(f fragment) (template.HTML, error) {
	ws := e.workshop
	var page backend.RecentPage
	err := e.ask(func(ctx context.Context) (err error) {
		page, err = ws.tracker.LatelyActive(ctx, f.topic, f.within, max(f.max, 1))
		return err
	})
	texts := ws.cfg.Texts
	if err != nil {
		return newMarkup(64).raw(`<p class="presence-unknown">`).text(texts.Unknown).raw("</p>").html(), nil
	}
	users := onlineFirst(page.Users[:min(f.max, len(page.Users))])
	b := newMarkup(64 + 200*len(users))
	if page.Total == 0 {
		return b.raw(`<p class="presence-empty">`).text(texts.Nobody).raw("</p>").html(), nil
	}
	if len(users) > 0 {
		b.raw(`<ul class="presence-names" role="list">`)
		for _, u := range users {
			b.raw(`<li data-recent="`).text(string(u.ID.Local())).raw(`"`).group(u.User).raw(">").named(u.User)
			if u.Online {
				b.raw(`, <span class="presence-now">`).text(texts.OnlineNow).raw("</span></li>")
			} else {
				b.raw(", ").time(u.Active, ws.ago(time.Since(u.Active))).raw("</li>")
			}
		}
		b.raw("</ul>")
	}
	ws.rest(b, page.Total-len(users))
	return b.html(), nil
}

// onlineFirst returns users with those who are online before the others. A user who is online may
// have viewed a page earlier than a user who has left. But the list says "online now" beside the
// former, so that user comes first.
func onlineFirst(users []backend.RecentUser) []backend.RecentUser {
	users = slices.Clone(users)
	slices.SortStableFunc(users, func(a, b backend.RecentUser) int {
		switch {
		case a.Online == b.Online:
			return 0
		case a.Online:
			return -1
		}
		return 1
	})
	return users
}

// mostOnline renders the most users who were ever online in a topic, and when.
func (e *partElements) mostOnline(topic any) (template.HTML, error) {
	f, err := fragment{part: "peak"}.of(e.visit, topic)
	if err != nil {
		return "", err
	}
	return e.part(f)
}

// peak renders the content of the part "peak". It is empty for a topic without a record.
func (e *partElements) peak(f fragment) (template.HTML, error) {
	t := e.know(f.topic)
	if t.view == nil || t.view.Peak.At.IsZero() {
		return "", nil
	}
	ws, peak := e.workshop, t.view.Peak
	n := newMarkup(64).raw(`<data value="`).int(peak.Total).raw(`">`).text(ws.locale.number(peak.Total)).raw("</data>").html()
	at := newMarkup(128).time(peak.At, ws.moment(peak.At)).html()
	return "<p>" + fillIn(ws.cfg.Texts.Record, "{n}", string(n), "{time}", string(at)) + "</p>", nil
}

// moment returns a time in words, in UTC.
func (ws *workshop) moment(at time.Time) string {
	at = at.UTC()
	texts := ws.cfg.Texts
	return strings.NewReplacer("{day}", strconv.Itoa(at.Day()), "{month}", texts.Months[at.Month()-1],
		"{year}", strconv.Itoa(at.Year()), "{time}", at.Format("15:04")).Replace(texts.Moment)
}

// bots renders the content of the part "bots": the crawlers by name, the highest number first.
func (e *partElements) bots(f fragment) (template.HTML, error) {
	t := e.know(f.topic)
	if t.view == nil {
		return "", nil
	}
	return e.workshop.botsOf(t.view.Bots), nil
}
