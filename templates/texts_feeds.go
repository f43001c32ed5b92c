package templates

import "strings"

// FeedTexts are the words of bell, notifications and rooms. An empty field is the English
// in its tag.
type FeedTexts struct {
	Notifications string `en:"Notifications"`       // the name of bell and list, for screen readers
	Bell          Plural `en:"{label}, {n} unread"` // the name of a bell with a number
	Unread        Plural `en:"unread"`              // beside the number
	New           string `en:"unread"`              // an item that is not read
	Fresh         Plural `en:"{n} new"`             // the button that shows new items
	MarkRead      string `en:"Mark as read"`
	MarkUnread    string `en:"Mark as unread"`
	MarkAll       string `en:"Mark all as read"`
	Archive       string `en:"Archive"`
	Mute          string `en:"Mute"`
	Nothing       string `en:"There is nothing here yet."` // there is no item
	Older         string `en:"Older"`
	Newest        string `en:"Newest"`
	All           string `en:"All notifications"` // below the list of a popover

	NewPosts Plural `en:"{n} new post|{n} new posts"` // the button that shows new posts of a room
	Removed  string `en:"This was removed."`          // in place of the text of a removed item

	// Who did something, for {actors} in texts: see Texts.Actors.
	Somebody string `en:"Somebody"`              // one user whose name is not known
	People   Plural `en:"{n} person|{n} people"` // several users whose names are not known
	Both     string `en:"{name} and {other}"`
	Others   Plural `en:"{name} and {n} other|{name} and {n} others"`
}

// Actors returns the words for who did something: "Alice", "Alice and Bob", "Alice and 3
// others". It is a feed.Config.Actors in the language of the texts:
//
//	feed.Config{Actors: texts.Actors}
//
// names has at most two names. others is how many more users there are.
func (t Texts) Actors(names []string, others int) string {
	texts, locale := t.withDefaults().Feeds, newLocale(t.Lang)
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
