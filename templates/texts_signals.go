package templates

// SignalTexts are the words of typing and editors. An empty field is the English in its tag.
// {name} and {other} stand for names of users, {time} for a time of day.
type SignalTexts struct {
	Typing     string `en:"{name} is typing…"`
	BothTyping string `en:"{name} and {other} are typing…"`
	ManyTyping string `en:"Several people are typing…"`

	Editors    string  `en:"Who is editing this"` // the name of the list, for screen readers
	Editing    string  `en:"{name} is editing this, since {time}"`
	NoEditors  string  `en:"Nobody else is editing this."`                                                                                       // shown only while it is certain
	NotKnown   string  `en:"It is not known right now who else is editing this."`                                                                // the store is out, or the connection is lost
	CameToEdit Summary `en:"{name} is editing this, too|{name} and {n} other are editing this, too|{name} and {n} others are editing this, too"` // news for screen readers
	LeftEdit   Summary `en:"{name} is no longer editing this|{name} and {n} other are no longer editing this|{name} and {n} others are no longer editing this"`

	Saved  string `en:"{name} saved a newer version. Yours is older."`
	Next   string `en:"Copy what you have written before you load it."` // what to do after Saved
	Reload string `en:"Load the newer version"`                         // the link to the newer version
}
