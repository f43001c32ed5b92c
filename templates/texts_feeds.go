package templates

import (
	"cmp"
	"strings"
)

// FeedTexts are the words of bell, notifications and rooms. An empty field is the English
// default.
type FeedTexts struct {
	Notifications string // the name of bell and list, for screen readers: "Notifications"
	Bell          Plural // the name of a bell with a number: "{label}, {n} unread"
	Unread        Plural // beside the number: "unread"
	New           string // an item that is not read: "unread"
	Fresh         Plural // the button that shows new items: "{n} new"
	MarkRead      string // "Mark as read"
	MarkUnread    string // "Mark as unread"
	MarkAll       string // "Mark all as read"
	Archive       string // "Archive"
	Mute          string // "Mute"
	Nothing       string // there is no item: "There is nothing here yet."
	Older         string // "Older"
	Newest        string // "Newest"
	All           string // below the list of a popover: "All notifications"

	NewPosts Plural // the button that shows new posts of a room: "{n} new post", "{n} new posts"
	Removed  string // in place of the text of a removed item: "This was removed."

	// Who did something, for {actors} in texts: see Texts.Actors.
	Somebody string // one user whose name is not known: "Somebody"
	People   Plural // several users whose names are not known: "{n} people"
	Both     string // "{name} and {other}"
	Others   Plural // "{name} and {n} other", "{name} and {n} others"
}

func (t FeedTexts) withDefaults() FeedTexts {
	return FeedTexts{
		Notifications: cmp.Or(t.Notifications, "Notifications"),
		Bell:          t.Bell.or("", "{label}, {n} unread"),
		Unread:        t.Unread.or("", "unread"),
		New:           cmp.Or(t.New, "unread"),
		Fresh:         t.Fresh.or("", "{n} new"),
		MarkRead:      cmp.Or(t.MarkRead, "Mark as read"),
		MarkUnread:    cmp.Or(t.MarkUnread, "Mark as unread"),
		MarkAll:       cmp.Or(t.MarkAll, "Mark all as read"),
		Archive:       cmp.Or(t.Archive, "Archive"),
		Mute:          cmp.Or(t.Mute, "Mute"),
		Nothing:       cmp.Or(t.Nothing, "There is nothing here yet."),
		Older:         cmp.Or(t.Older, "Older"),
		Newest:        cmp.Or(t.Newest, "Newest"),
		All:           cmp.Or(t.All, "All notifications"),
		NewPosts:      t.NewPosts.or("{n} new post", "{n} new posts"),
		Removed:       cmp.Or(t.Removed, "This was removed."),
		Somebody:      cmp.Or(t.Somebody, "Somebody"),
		People:        t.People.or("{n} person", "{n} people"),
		Both:          cmp.Or(t.Both, "{name} and {other}"),
		Others:        t.Others.or("{name} and {n} other", "{name} and {n} others"),
	}
}

// Actors returns the words for who did something: "Alice", "Alice and Bob", "Alice and 3
// others". It is a feed.Config.Actors in the language of the texts:
//
//	feed.Config{Actors: texts.Actors}
//
// names has at most two names. others is how many more users there are.
func (t Texts) Actors(names []string, others int) string {
	texts, locale := t.Feeds.withDefaults(), newLocale(t.Lang)
	switch {
	case len(names) == 0 && others == 0:
		return texts.Somebody
	case len(names) == 0:
		return locale.text(texts.People, others)
	case len(names) == 1 && others == 0:
		return names[0]
	case len(names) == 2 && others == 0:
		return strings.NewReplacer("{name}", names[0], "{other}", names[1]).Replace(texts.Both)
	}
	return strings.NewReplacer("{name}", names[0]).Replace(locale.text(texts.Others, others+len(names)-1))
}
