package sqlstore_test

import (
	"testing"
)

// TestErasedRows: a message that waits is read for an erasure as the relay reads it, and one that
// will never be relayed goes if it names the user, however it does.
func TestErasedRows(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		s, db := migrated(t, k)
		f := s.Feeds()
		const defaults = `"id":"row","type":"message","v":1`
		for _, row := range []struct{ what, message, want string }{
			{"from", `{"to":["alice"],"from":"bob","name":"Bob","text":"hello"}`, `{"to":["alice"],` + defaults + `,"name":"Somebody","text":"hello"}`},
			{"to", `{"to":["alice","bob"],"text":"hello"}`, `{"to":["alice"],` + defaults + `,"text":"hello"}`},
			{"alone", `{"to":["bob"],"text":"hello"}`, ""},
			{"room", `{"feed":"thread:1","from":"bob","text":"hello"}`, `{"feed":"thread:1",` + defaults + `,"name":"Somebody","text":"hello"}`},
			{"capitals", `{"To":["alice"],"From":"bob","Name":"Bob","Text":"hello"}`, `{"to":["alice"],` + defaults + `,"name":"Somebody","text":"hello"}`},
			{"capitals alone", `{"TO":["bob"],"text":"hello"}`, ""},
			{"escaped", `{"to":["alice"],"from":"b\u006fb","text":"hello"}`, `{"to":["alice"],` + defaults + `,"name":"Somebody","text":"hello"}`},
			{"a text for a list", `{"to":"bob","text":"hello"}`, ""},
			{"a text for a list, escaped", `{"to":"b\u006fb","text":"hello"}`, ""},
			{"no text", `{"to":["alice"],"from":"bob"}`, ""},
			{"an inbox", `{"feed":"inbox:bob","text":"hello"}`, ""},
			{"cut off", `{"to":["bob`, ""},

			{"of others", `{"to":["alice"],"from":"bobby","text":"bob, caf\u00e9"}`, `{"to":["alice"],"from":"bobby","text":"bob, caf\u00e9"}`},
			{"of others, given up", `{"to":"alice","from":"bobby","text":"about bob, caf\u00e9"}`, `{"to":"alice","from":"bobby","text":"about bob, caf\u00e9"}`},
		} {
			must(t, db, "INSERT INTO rollcall_outbox (id, message) VALUES ('row', $1)", row.message)
			kept, err := f.ExportUser(t.Context(), "bob")
			noError(t, err)
			_, err = f.EraseUser(t.Context(), "bob")
			noError(t, err)
			if got := one[string](t, db, "SELECT coalesce(max(message), '') FROM rollcall_outbox"); got != row.want {
				t.Errorf("%s: got %s, want %s; of %s", row.what, got, row.want, row.message)
			}
			if row.want == row.message && len(kept.Waiting) > 0 {
				t.Errorf("%s: bob's export has %v", row.what, kept.Waiting)
			}
			must(t, db, "DELETE FROM rollcall_outbox")
		}
	})
}
