package templates

import "cmp"

// PeopleTexts are the words of contacts, person, sessions and settings. An empty field is the
// English default.
type PeopleTexts struct {
	Contacts   string // the name of the list, for screen readers: "Contacts"
	Online     Plural // "contact online", "contacts online"
	NoContacts string // "There is nobody on your list yet."
	LastSeen   string // "last seen {ago}"
	Phone      string // all of the user's devices are phones: "on a phone"
	Tablet     string // all are tablets: "on a tablet"

	Sessions    string // the name of the list, for screen readers: "Your devices"
	NoSessions  string // "You are online from no device."
	Device      string // a device of which nothing is known: "Unknown device"
	ThisDevice  string // "this device"
	Connections Plural // "{n} connection", "{n} connections"
	End         string // the button that ends a session: "End session"

	Settings  string // the name of the form, for screen readers: "Who sees you"
	Status    string // "Status"
	Invisible string // "invisible"
	// InvisibleHint explains the status invisible: "Invisible: you look offline to everybody."
	InvisibleHint string
	Text          string // "What you are doing"
	TextHint      string // "It stands beside your status. At most 100 characters, fewer in some scripts."
	For           string // "Change back"
	Never         string // "not by itself"
	Until         string // the end that is set already: "at {time}"
	InMinutes     Plural // "in {n} minute", "in {n} minutes"
	InHours       Plural // "in {n} hour", "in {n} hours"
	InDays        Plural // "in {n} day", "in {n} days"
	WhoOnline     string // "Who sees that you are online"
	WhoSeen       string // "Who sees when you were last here"
	SeenHint      string // "Never more people than see that you are online."
	Everyone      string // "everyone"
	OnlyContacts  string // "people on my list"
	Nobody        string // "nobody"
	Save          string // "Save"

	AddContact    string // a button: "Add to your list"
	RemoveContact string // a button: "Remove from your list"
	Block         string // a button: "Block"
	Unblock       string // a button: "Unblock"
}

func (t PeopleTexts) withDefaults() PeopleTexts {
	return PeopleTexts{
		Contacts:      cmp.Or(t.Contacts, "Contacts"),
		Online:        t.Online.or("contact online", "contacts online"),
		NoContacts:    cmp.Or(t.NoContacts, "There is nobody on your list yet."),
		LastSeen:      cmp.Or(t.LastSeen, "last seen {ago}"),
		Phone:         cmp.Or(t.Phone, "on a phone"),
		Tablet:        cmp.Or(t.Tablet, "on a tablet"),
		Sessions:      cmp.Or(t.Sessions, "Your devices"),
		NoSessions:    cmp.Or(t.NoSessions, "You are online from no device."),
		Device:        cmp.Or(t.Device, "Unknown device"),
		ThisDevice:    cmp.Or(t.ThisDevice, "this device"),
		Connections:   t.Connections.or("{n} connection", "{n} connections"),
		End:           cmp.Or(t.End, "End session"),
		Settings:      cmp.Or(t.Settings, "Who sees you"),
		Status:        cmp.Or(t.Status, "Status"),
		Invisible:     cmp.Or(t.Invisible, "invisible"),
		InvisibleHint: cmp.Or(t.InvisibleHint, "Invisible: you look offline to everybody."),
		Text:          cmp.Or(t.Text, "What you are doing"),
		TextHint:      cmp.Or(t.TextHint, "It stands beside your status. At most 100 characters, fewer in some scripts."),
		For:           cmp.Or(t.For, "Change back"),
		Never:         cmp.Or(t.Never, "not by itself"),
		Until:         cmp.Or(t.Until, "at {time}"),
		InMinutes:     t.InMinutes.or("in {n} minute", "in {n} minutes"),
		InHours:       t.InHours.or("in {n} hour", "in {n} hours"),
		InDays:        t.InDays.or("in {n} day", "in {n} days"),
		WhoOnline:     cmp.Or(t.WhoOnline, "Who sees that you are online"),
		WhoSeen:       cmp.Or(t.WhoSeen, "Who sees when you were last here"),
		SeenHint:      cmp.Or(t.SeenHint, "Never more people than see that you are online."),
		Everyone:      cmp.Or(t.Everyone, "everyone"),
		OnlyContacts:  cmp.Or(t.OnlyContacts, "people on my list"),
		Nobody:        cmp.Or(t.Nobody, "nobody"),
		Save:          cmp.Or(t.Save, "Save"),
		AddContact:    cmp.Or(t.AddContact, "Add to your list"),
		RemoveContact: cmp.Or(t.RemoveContact, "Remove from your list"),
		Block:         cmp.Or(t.Block, "Block"),
		Unblock:       cmp.Or(t.Unblock, "Unblock"),
	}
}
