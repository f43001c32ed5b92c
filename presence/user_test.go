package presence_test

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/presence"
)

// valid has a value for each field whose form Validate checks. Any other field is "there".
var valid = map[string]string{"Group": "staff"}

// A field that is new in Profile is everywhere: it is copied, compared and encoded, and a user who
// has it is no status alone.
func TestProfileIsWhole(t *testing.T) {
	fields := reflect.TypeFor[presence.Profile]()
	for i := range fields.NumField() {
		field := fields.Field(i)
		var p presence.Profile
		switch value := reflect.ValueOf(&p).Elem().Field(i); value.Interface().(type) {
		case string:
			value.SetString(cmp.Or(valid[field.Name], "there"))
		case json.RawMessage:
			value.SetBytes([]byte(`{"there":1}`))
		default:
			t.Fatalf("%s: say here how a %v is set", field.Name, field.Type)
		}
		u := p.User("alice")
		if got := u.Profile(); !reflect.DeepEqual(got, p) {
			t.Errorf("%s: the user's profile is %+v, want %+v", field.Name, got, p)
		}
		if got := u.Clone(); !reflect.DeepEqual(got, u) {
			t.Errorf("%s: the copy is %+v, want %+v", field.Name, got, u)
		}
		if u.SameProfile(presence.User{ID: "alice"}) {
			t.Errorf("%s is not compared", field.Name)
		}
		m := presence.Member{User: u}
		var event presence.Profile
		if err := json.Unmarshal(m.AppendJSON(nil), &event); err != nil {
			t.Fatal(err)
		}
		if p.Name == "" {
			p.Name = "alice" // which is shown
		}
		if !reflect.DeepEqual(event, p) {
			t.Errorf("%s: events have %+v, want %+v", field.Name, event, p)
		}
		if err := u.Validate(); err != nil {
			t.Errorf("%s: %v: give valid a value of the form that Validate asks for", field.Name, err)
		}
		if field.Type.Kind() != reflect.String {
			continue
		}
		if reflect.ValueOf(&u).Elem().FieldByName(field.Name).SetString("\x00"); u.Validate() == nil {
			t.Errorf("%s may have control characters", field.Name)
		}
		if reflect.ValueOf(&u).Elem().FieldByName(field.Name).SetString(strings.Repeat("x", presence.MaxProfileLen+1)); u.Validate() == nil {
			t.Errorf("%s may be of any length", field.Name)
		}
	}
}

// Ids of a table with integers or with text are ids of users.
func TestUserIDOfAColumn(t *testing.T) {
	for column, want := range map[any]presence.UserID{"alice": "alice", int64(42): "42", int64(-1): "-1"} {
		var id presence.UserID
		if err := id.Scan(column); err != nil || id != want {
			t.Errorf("%v: got %q and %v, want %q", column, id, err, want)
		}
	}
	var id presence.UserID
	if err := id.Scan([]byte("bob")); err != nil || id != "bob" {
		t.Errorf("got %q and %v, want bob", id, err)
	}
	for _, column := range []any{nil, 1.5, true} {
		if err := id.Scan(column); err == nil || id != "bob" {
			t.Errorf("%v: got %q and %v, want an error", column, id, err)
		}
	}
}
