package track

import (
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// pageViews records the page views of users, guests and crawlers.
type pageViews struct {
	cfg       *Config
	writer    *writer
	users     *users
	topics    *topics
	directory *directoryCalls
	devices   *deviceRoster
	acts      *acts
	attention *attention
	leases    *leases
	lastSeen  *lastSeen
}

// seen is [Tracker.Seen].
func (p *pageViews) seen(topic presence.Topic, user presence.User, on presence.Device) {
	if user.Hidden || user.ValidateInside() != nil || p.acts.bars(user.ID) {
		return
	}
	view := pageView{topic: topic, user: user.Clone(), at: time.Now(), device: p.users.deviceOf(p.devices, user.ID, on)}
	views := []pageView{view}
	if p.directory.on() {
		view.topic = backend.DevicesTopic
		views = append(views, view)
	}
	p.users.addViews(views...)
	p.attention.viewed(view.user.ID)
	p.leases.viewed(views...)
	p.users.see(p.lastSeen, view.user, proof{at: time.Now()})
}

// seenGuest is [Tracker.SeenGuest].
func (p *pageViews) seenGuest(topic presence.Topic, guest string) {
	p.leases.guests.seen(topic, strings.Clone(guest))
	for _, c := range p.users.connectionsOfGuest(guest) {
		p.leases.guests.returned(c)
	}
}

// seenBot is [Tracker.SeenBot].
func (p *pageViews) seenBot(topic presence.Topic, name, id string) {
	if id == "" || !backend.ValidBotName(name) || !p.cfg.Kind(topic).Bots {
		return
	}
	p.writer.add(topic, backend.Op{Kind: backend.OpBot, Bot: strings.Clone(name), Guest: strings.Clone(id), For: p.cfg.Age})
}

// needsSeen is [Tracker.NeedsSeen].
func (p *pageViews) needsSeen(topic presence.Topic, user presence.UserID, since time.Time) bool {
	if p.users.needsView(user, since) {
		return true
	}
	if p.directory.on() && !p.users.inRosters(user) { // a user in no roster stays hidden
		return p.devices.view() != nil && !p.devices.has(user)
	}
	r, err := p.topics.look(topic)
	if err != nil {
		return false
	}
	view := r.view.Load()
	if view == nil {
		return false
	}
	return view.find(user) == nil
}
