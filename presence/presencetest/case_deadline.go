package presencetest

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func deadlineCases() []ruleCase {
	return []ruleCase{
		{"rule 4", "what comes after its context has ended changes nothing", comesLate},
	}
}

// The store gets to each call when its context has ended.
func comesLate(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"))
	site.wants("+u")
	late, cancel := context.WithCancel(tr.ctx)
	cancel()
	if r := tr.store.Apply(late, tr.batch(presence.Site, join("v", "a.2"), drop("u", "a.1"))); len(r) != 1 || r[0].Err == nil {
		tr.Errorf("got %+v from Apply, want an error (rule 4)", r)
	}
	site.wants("")
	if tr.store.Publish(late, backend.SignOutNotice("u")) == nil {
		tr.Errorf("got no error from Publish, want one (rule 4)")
	}
	if _, err := tr.store.PutStatus(late, "u", backend.ChosenStatus{Status: presence.Busy}, false); err == nil {
		tr.Errorf("got no error from PutStatus, want one (rule 4)")
	}
	if _, err := tr.store.Poll(late, backend.Poll{Process: "a.p", Term: term}); err == nil {
		tr.Errorf("got no error from Poll, want one (rule 4)")
	}
	tr.renews("a.p", false)
	if _, err := tr.store.ClaimConsumer(late, consumerName, backend.ConsumerClaim{Holder: "a", For: consumerHold, Create: true}); err == nil {
		tr.Errorf("got no error from ClaimConsumer, want one (rule 4)")
	}
	tr.claims(tr.peer, "b", true, backend.ConsumerHeld)
	if kept, err := tr.peer.Statuses(tr.ctx, "u"); err != nil || kept[0].Status != "" {
		tr.Errorf("got %+v, %v, want no status (rule 4)", kept, err)
	}
}
