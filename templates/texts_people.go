package templates

// PeopleTexts are the words of contacts, person, sessions and settings. An empty field is the
// English in its tag.
type PeopleTexts struct {
	Contacts   string `en:"Contacts"` // the name of the list, for screen readers
	Online     Plural `en:"contact online|contacts online"`
	NoContacts string `en:"There is nobody on your list yet."`
	LastSeen   string `en:"last seen {ago}"`
	Phone      string `en:"on a phone"`  // all of the user's devices are phones
	Tablet     string `en:"on a tablet"` // all are tablets

	Sessions    string `en:"Your devices"` // the name of the list, for screen readers
	NoSessions  string `en:"You are online from no device."`
	Device      string `en:"Unknown device"` // a device of which nothing is known
	ThisDevice  string `en:"this device"`
	Connections Plural `en:"{n} connection|{n} connections"`
	End         string `en:"End session"` // the button that ends a session

	Settings      string `en:"Who sees you"` // the name of the form, for screen readers
	Status        string `en:"Status"`
	Invisible     string `en:"invisible"`
	InvisibleHint string `en:"Invisible: you look offline to everybody."`
	Text          string `en:"What you are doing"`
	TextHint      string `en:"It stands beside your status. At most 100 characters, fewer in some scripts."`
	For           string `en:"Change back"`
	Never         string `en:"not by itself"`
	Until         string `en:"at {time}"` // the end that is set already
	InMinutes     Plural `en:"in {n} minute|in {n} minutes"`
	InHours       Plural `en:"in {n} hour|in {n} hours"`
	InDays        Plural `en:"in {n} day|in {n} days"`
	WhoOnline     string `en:"Who sees that you are online"`
	WhoSeen       string `en:"Who sees when you were last here"`
	SeenHint      string `en:"Never more people than see that you are online."`
	Everyone      string `en:"everyone"`
	OnlyContacts  string `en:"people on my list"`
	Nobody        string `en:"nobody"`
	Save          string `en:"Save"`

	AddContact    string `en:"Add to your list"`      // a button
	RemoveContact string `en:"Remove from your list"` // a button
	Block         string `en:"Block"`                 // a button
	Unblock       string `en:"Unblock"`               // a button
}
