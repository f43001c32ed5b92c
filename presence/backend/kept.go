package backend

import (
	"cmp"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A ChosenStatus is a [Store]'s record of what a user chose. It is zero if the store has none.
type ChosenStatus struct {
	Status presence.Status
	Rev    int64 // greater for each later choice; roughly its moment by the store's clock, in Unix microseconds
}

// At returns roughly when the user chose the status; zero if the user chose none.
func (c ChosenStatus) At() time.Time {
	if c.Rev == 0 {
		return time.Time{}
	}
	return time.UnixMicro(c.Rev)
}

// StoreKept is what a [Store] keeps of a user. An ExportUser of a Store fills it in, and returns
// its Parts.
type StoreKept struct {
	Chosen  ChosenStatus
	Topics  []TopicKept // a device is there as in the topic of devices
	Notices []NoticeKept
	Entries []EntryKept
}

// A TopicKept is what one topic keeps of a user, or of a user's device.
type TopicKept struct {
	Topic    presence.Topic
	Member   presence.Member   // of a user who is online there; a zero Since: the user is hidden
	Leases   []presence.Holder // none: the user is offline there
	Viewed   bool              // the user is in the set of page views
	LastSeen time.Time         // zero: not kept
	Known    presence.User     // as the user is remembered
	Active   time.Time         // when the user was last active, if the topic remembers the user by name; zero: it does not
}

// A NoticeKept is a message to all nodes about a user, which is kept for ten minutes.
type NoticeKept struct {
	Kind NoticeKind `json:"kind"`
	At   time.Time  `json:"at"`
}

// An EntryKept is an entry of a consumer's record about a user.
type EntryKept struct {
	Consumer string `json:"consumer"`
	Key      string `json:"key"`
	Value    string `json:"value"`
}

// Compare orders by topic, and then by user or device.
func (k TopicKept) Compare(o TopicKept) int {
	return cmp.Or(cmp.Compare(k.Topic, o.Topic), cmp.Compare(k.Member.ID, o.Member.ID))
}

// Compare orders by consumer and key.
func (k EntryKept) Compare(o EntryKept) int {
	return cmp.Or(cmp.Compare(k.Consumer, o.Consumer), cmp.Compare(k.Key, o.Key))
}

// Parts returns the parts of an export.
func (k StoreKept) Parts() []Kept {
	type status struct {
		Status presence.Status `json:"status,omitempty"`
		At     time.Time       `json:"at,omitzero"`
	}
	type online struct {
		Topic presence.Topic `json:"topic"`
		presence.Profile
		Status presence.Status   `json:"status,omitempty"`
		Since  time.Time         `json:"since,omitzero"`
		Active time.Time         `json:"active,omitzero"`
		Idle   bool              `json:"idle,omitempty"`
		By     []presence.Holder `json:"by"`
	}
	type seen struct {
		Topic presence.Topic `json:"topic"`
		At    time.Time      `json:"at"`
	}
	type name struct {
		Topic presence.Topic `json:"topic"`
		presence.Profile
		Active time.Time `json:"active"`
	}
	type device struct {
		ID       presence.DeviceID `json:"id"`
		Kind     string            `json:"kind,omitempty"`
		Label    string            `json:"label,omitempty"`
		Addr     string            `json:"addr,omitempty"`
		Agent    string            `json:"agent,omitempty"`
		Online   bool              `json:"online"`
		LastSeen time.Time         `json:"last_seen,omitzero"`
	}
	now, lately, names, views, devices := []online{}, []seen{}, []name{}, []presence.Topic{}, []device{}
	for _, t := range k.Topics {
		topic := t.Topic.Local()
		if t.Topic == DevicesTopic {
			d := DeviceOf(t.Member)
			devices = append(devices, device{d.ID, d.Kind, d.Label, d.Addr, d.Agent, len(t.Leases) > 0, t.LastSeen})
			continue
		}
		if len(t.Leases) > 0 {
			now = append(now, online{topic, t.Member.Profile(), t.Member.Status, t.Member.Since, t.Member.Active, t.Member.Idle, t.Leases})
		}
		if !t.LastSeen.IsZero() {
			lately = append(lately, seen{topic, t.LastSeen})
		}
		if !t.Active.IsZero() {
			names = append(names, name{topic, t.Known.Profile(), t.Active})
		}
		if t.Viewed {
			views = append(views, topic)
		}
	}
	return []Kept{
		{"online", "while you are online, and until a stream or page view that ended without a goodbye has expired", now},
		{"devices", "while the device is online; when it was last seen, until the site trims it, by default after 30 days", devices},
		{"page_views", "two age periods, by default ten minutes", views},
		{"recent_names", "24 hours after your latest page view, and fewer where more users came since", names},
		{"topics_last_seen", "until the site trims it, by default after 30 days; it goes when you come back", lately},
		{"chosen_status", "until you choose again, or the site trims it, by default after 30 days", status{k.Chosen.Status, k.Chosen.At()}},
		{"notices", "ten minutes", append([]NoticeKept{}, k.Notices...)},
		{"deliveries", "joins and leaves that wait to be told to a program of the site: until it took them, at most a day for a webhook; that you are online, while you are", append([]EntryKept{}, k.Entries...)},
	}
}
