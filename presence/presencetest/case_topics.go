package presencetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func topicsCases() []ruleCase {
	return []ruleCase{
		{"topics", "every topic with somebody in it is listed", topicsListed},
		{"topics", "they come by their bytes, page by page", topicsInOrder},
		{"topics", "a topic is forgotten that nobody is in", topicsForgotten},
		{"topics", "an empty topic is listed for a minute, with its log", topicsLinger},
		{"inspect", "users come with what holds them, invisible ones too", inspectHolders},
		{"inspect", "users come by their IDs, page by page", inspectInOrder},
		{"inspect", "an expired lease is shown until it is swept", inspectExpired},
		{"rule 10", "nothing remains of what a site wanted to be kept", nothingKept},
	}
}

// topics returns all topics, read in pages.
func (tr *trial) topics(most int) (all []presence.Topic) {
	tr.Helper()
	for after := presence.Topic(""); ; {
		topics, err := tr.store.Topics(tr.ctx, after, most)
		if err != nil || len(topics) > most {
			tr.Fatalf("topics after %q: got %d and error %v, want %d at most", after, len(topics), err, most)
		}
		if all = append(all, topics...); len(topics) < most {
			return all
		}
		after = topics[most-1]
	}
}

func (tr *trial) wantTopics(want ...presence.Topic) {
	tr.Helper()
	if got := tr.topics(100); !slices.Equal(got, want) {
		tr.Errorf("topics are %q, want %q", got, want)
	}
}

// Also with an invisible user, a guest or a bot alone.
func topicsListed(tr *trial) {
	tr.wantTopics()
	tr.do("thread:1", join("u", "a.1"))
	tr.do(presence.Site, joinAs(invisible("u"), "a.1"))
	tr.do("thread:3", guest("g"))
	tr.do("thread:2", bot("b", "Bingbot"))
	tr.do("thread:4", seen("u"))
	tr.wantTopics(presence.Site, "thread:1", "thread:2", "thread:3", "thread:4")
}

// The page begins after a topic that need not be there.
func topicsInOrder(tr *trial) {
	var want []presence.Topic
	var batches []backend.Batch
	for i := range 30 {
		topic := presence.Topic(fmt.Sprint("thread:", i))
		want = append(want, topic)
		batches = append(batches, batch(topic, join("u", "a.1"))...)
	}
	for i, r := range tr.store.Apply(tr.ctx, batches) {
		if r.Err != nil {
			tr.Fatalf("%s: %v", want[i], r.Err)
		}
	}
	slices.Sort(want)
	for _, most := range []int{1, 7, 30, 1000} {
		if got := tr.topics(most); !slices.Equal(got, want) {
			tr.Errorf("%d at a time: got %q, want %q", most, got, want)
		}
	}
	for _, tt := range []struct {
		after presence.Topic
		most  int
		want  []presence.Topic
	}{
		{"thread:1", 2, []presence.Topic{"thread:10", "thread:11"}},
		{"thread:099", 1, []presence.Topic{"thread:1"}},
		{"thread:9", 5, nil},
		{"", 0, nil},
		{"", -1, nil},
	} {
		if got, err := tr.peer.Topics(tr.ctx, tt.after, tt.most); err != nil || !slices.Equal(got, tt.want) {
			tr.Errorf("%d after %q: got %q and error %v, want %q", tt.most, tt.after, got, err, tt.want)
		}
	}
}

// Rule 10: last seen, names and a record do not make a topic listed.
func topicsForgotten(tr *trial) {
	tr.keep = presence.Keep{Names: 10, Peak: true}
	tr.do(presence.Site, join("u", "a.1"), seen("u"), guest("g"), bot("b", "Bingbot"))
	tr.do("thread:1", lasting(joinAs(invisible("u"), "a.1"), day))
	tr.do("thread:2", lasting(join("u", "a.1"), day))
	tr.pass(ttl)
	for range 4 {
		tr.pass(period + slack)
		tr.age()
	}
	tr.wantTopics("thread:1", "thread:2")
}

// Who looks once in a while finds each topic that somebody came into and left.
func topicsLinger(tr *trial) {
	tr.do("thread:1", join("u", "a.1"))
	tr.do("thread:1", drop("u", "a.1"))
	for range 11 {
		tr.pass(5 * time.Second)
		tr.age()
	}
	tr.wantTopics("thread:1")
	log, err := tr.store.Log(tr.ctx, "thread:1", backend.Origin)
	if err != nil || len(log) != 2 || len(log[0].Joins) != 1 || len(log[1].Leaves) != 1 {
		tr.Errorf("got the log %+v and error %v, want a join and a leave", log, err)
	}
}

// inspect returns users of the site.
func (tr *trial) inspect(after presence.UserID, most int) []backend.Inspected {
	tr.Helper()
	users, err := tr.store.Inspect(tr.ctx, presence.Site, after, most)
	if err != nil || len(users) > max(most, 0) {
		tr.Fatalf("inspect after %q: got %d users and error %v, want %d at most", after, len(users), err, most)
	}
	return users
}

// Leases come by their holders. A user who left is not shown.
func inspectHolders(tr *trial) {
	if got := tr.inspect("", 10); len(got) != 0 {
		tr.Errorf("at first got %+v, want nobody", got)
	}
	tr.keep.Active = true
	minute := tr.startMinute()
	shy := full("w")
	shy.Status = presence.Invisible
	tr.do(presence.Site, past(joinAs(full("u"), "b.1"), time.Second), join("v", "a.2"), joinAs(shy, "a.3"), join("x", "a.4"), guest("g"), bot("b", "Bot"))
	tr.do(presence.Site, past(joinAs(full("u"), "a.1"), time.Second), seenAs(full("u")), join("v", "a.9"), release("v", "a.9"), drop("x", "a.4"))
	tr.do("thread:1", join("y", "a.5"))
	got := tr.inspect("", 10)
	want := []struct {
		user   presence.User
		leases map[presence.Holder]time.Duration
	}{
		{full("u"), map[presence.Holder]time.Duration{"a.1": ttl, "b.1": ttl, presence.HolderWeb: period}},
		{named("v"), map[presence.Holder]time.Duration{"a.2": ttl, presence.HolderGrace: grace}},
		{shy, map[presence.Holder]time.Duration{"a.3": ttl}},
	}
	if len(got) != len(want) {
		tr.Fatalf("got %+v, want u, v and w", got)
	}
	for i, w := range want {
		in := got[i]
		visible := w.user.Status != presence.Invisible
		if w.user.Status == "" {
			w.user.Status = presence.Online
		}
		member := presence.Member{User: w.user}
		if visible {
			member.Active = minute
		}
		if !sameMember(in.Member, member) || in.Since.IsZero() == visible || visible && !about(in.Since, minute) {
			tr.Errorf("got %+v, want %+v, visible: %v", in.Member, member, visible)
		}
		for k, l := range in.Leases {
			if left, ok := w.leases[l.Holder]; !ok || l.Left > left || l.Left < left-slack {
				tr.Errorf("%q: %q holds for %v, want %v (there: %v)", in.ID, l.Holder, l.Left, left, ok)
			}
			if k > 0 && in.Leases[k-1].Holder >= l.Holder {
				tr.Errorf("%q: the leases are %+v, want them by their holders", in.ID, in.Leases)
			}
		}
		if len(in.Leases) != len(w.leases) {
			tr.Errorf("%q: got the leases %+v, want %v", in.ID, in.Leases, w.leases)
		}
	}
}

// The page begins after a user who need not be there.
func inspectInOrder(tr *trial) {
	const all = 40
	tr.do(presence.Site, many(0, all, join)...)
	tr.do(presence.Site, status(ghost(5), presence.Invisible), status(ghost(6), presence.Invisible))
	for _, most := range []int{1, 7, all, 1000} {
		var got, want []presence.UserID
		for after := presence.UserID(""); ; {
			users := tr.inspect(after, most)
			for _, u := range users {
				got = append(got, u.ID)
			}
			if len(users) < most {
				break
			}
			after = users[most-1].ID
		}
		for i := range all {
			want = append(want, ghost(i))
		}
		if !slices.Equal(got, want) {
			tr.Errorf("%d at a time: got %q, want all %d by their IDs", most, got, all)
		}
	}
	if got := tr.inspect("ghost0045", 1); len(got) != 1 || got[0].ID != ghost(5) {
		tr.Errorf("after a user between two others: got %+v, want number 5", got)
	}
	if got := append(tr.inspect(ghost(all-1), 1), append(tr.inspect("", 0), tr.inspect("", -1)...)...); len(got) != 0 {
		tr.Errorf("after the last, and of none: got %+v, want nobody", got)
	}
}

// Left is zero or less. A store may have swept it by itself.
func inspectExpired(tr *trial) {
	tr.do(presence.Site, past(join("u", "a.1"), time.Second), seen("u"))
	tr.advance(ttl + slack)
	for _, u := range tr.inspect("", 10) {
		for _, l := range u.Leases {
			if live := l.Left > 0; live != (l.Holder == presence.HolderWeb) {
				tr.Errorf("%q holds for %v, want zero or less of the connection alone", l.Holder, l.Left)
			}
		}
	}
	tr.sweep()
	if got := tr.inspect("", 10); len(got) != 1 || len(got[0].Leases) != 1 {
		tr.Errorf("after the sweep got %+v, want one lease", got)
	}
	tr.pass(period)
	if got := tr.inspect("", 10); len(got) != 0 {
		tr.Errorf("after the leave got %+v, want nobody", got)
	}
}

// Rule 10: figures, bots and pages of a topic that all left, with all that can be kept.
func nothingKept(tr *trial) {
	tr.keep = presence.Keep{Names: 10, Active: true, Peak: true, PeakGuests: true, ForgetSignedOut: true}
	site := tr.follow(presence.Site)
	at := tr.now()
	tr.do(presence.Site, join("u", "a.1"), seen("v"), guest("g"), bot("b", "Bingbot"))
	tr.pass(period + slack)
	site.wants("+u -u +v -v")
	for range 3 {
		tr.advance(period + slack)
		tr.age()
	}
	empty := tr.read(presence.Site)
	if got, want := tr.counts(presence.Site), (backend.Counts{Head: empty.id, Peak: tr.wantPeak(presence.Site, 3, at)}); !sameCounts(got, want) || len(empty.members) != 0 {
		tr.Errorf("counts are %+v, online are %q, want %+v and nobody", got, empty.names(), want)
	}
	tr.wantBots(presence.Site, "")
	tr.wantNames(presence.Site, 0, "")
	tr.wantNames(presence.Site, day, "u v")
	tr.advance(day)
	tr.age()
	tr.wantNames(presence.Site, day, "")
	tr.wantPeak(presence.Site, 3, at)
	tr.do(presence.Site, join("u", "a.1"))
	tr.wantNames(presence.Site, day, "+u")
}
