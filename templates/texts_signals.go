package templates

import "cmp"

// SignalTexts are the words of typing and editors. An empty field is the English default.
// {name} and {other} stand for names of users, {time} for a time of day.
type SignalTexts struct {
	Typing     string // "{name} is typing…"
	BothTyping string // "{name} and {other} are typing…"
	ManyTyping string // "Several people are typing…"

	Editors    string  // the name of the list, for screen readers: "Who is editing this"
	Editing    string  // "{name} is editing this, since {time}"
	NoEditors  string  // shown only while it is certain: "Nobody else is editing this."
	NotKnown   string  // the store is out, or the connection is lost: "It is not known right now who else is editing this."
	CameToEdit Summary // news for screen readers: "{name} is editing this, too"
	LeftEdit   Summary // "{name} is no longer editing this"

	Saved  string // "{name} saved a newer version. Yours is older."
	Next   string // what to do after Saved: "Copy what you have written before you load it."
	Reload string // the link to the newer version: "Load the newer version"
}

func (t SignalTexts) withDefaults() SignalTexts {
	return SignalTexts{
		Typing:     cmp.Or(t.Typing, "{name} is typing…"),
		BothTyping: cmp.Or(t.BothTyping, "{name} and {other} are typing…"),
		ManyTyping: cmp.Or(t.ManyTyping, "Several people are typing…"),
		Editors:    cmp.Or(t.Editors, "Who is editing this"),
		Editing:    cmp.Or(t.Editing, "{name} is editing this, since {time}"),
		NoEditors:  cmp.Or(t.NoEditors, "Nobody else is editing this."),
		NotKnown:   cmp.Or(t.NotKnown, "It is not known right now who else is editing this."),
		CameToEdit: Summary{
			Alone:  cmp.Or(t.CameToEdit.Alone, "{name} is editing this, too"),
			Others: t.CameToEdit.Others.or("{name} and {n} other are editing this, too", "{name} and {n} others are editing this, too"),
		},
		LeftEdit: Summary{
			Alone:  cmp.Or(t.LeftEdit.Alone, "{name} is no longer editing this"),
			Others: t.LeftEdit.Others.or("{name} and {n} other are no longer editing this", "{name} and {n} others are no longer editing this"),
		},
		Saved:  cmp.Or(t.Saved, "{name} saved a newer version. Yours is older."),
		Next:   cmp.Or(t.Next, "Copy what you have written before you load it."),
		Reload: cmp.Or(t.Reload, "Load the newer version"),
	}
}
