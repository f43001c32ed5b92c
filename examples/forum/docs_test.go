package main

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// TestDocsStream: the events that docs/transports.md prints have the fields of those that
// a guest gets, and its tokens the form of ours.
func TestDocsStream(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/transports.md")
	if err != nil {
		t.Fatal(err)
	}
	f := forumtest.Start(t)
	f.User(t, "Alice").Stream("topic=site")
	f.Ready(t)
	live := f.Visitor(t).RawStream("topic=site", 2)
	for _, name := range []string{"welcome", "state"} {
		printed, got := fields(t, string(text), name), fields(t, live, name)
		if want := slices.Sorted(maps.Keys(got)); !slices.Equal(slices.Sorted(maps.Keys(printed)), want) {
			t.Errorf("%s: the page has %v, and a guest gets %v", name, slices.Sorted(maps.Keys(printed)), want)
		}
	}
	const part = `[A-Za-z0-9_-]`
	ofGuest := regexp.MustCompile(`^\w+\.` + part + `{8}\.` + part + `{20}~~` + part + `{22}$`)
	ofUser := regexp.MustCompile(`\w+\.` + part + `{8}\.` + part + `{20}~YWxpY2[A-Za-z0-9_-]+~site~thread:1~` + part + `{22}`)
	alice := f.User(t, "Alice").Stream("topic=site&topic=thread:1").Connection
	for token, form := range map[string]*regexp.Regexp{
		fields(t, string(text), "welcome")["connection"].(string): ofGuest,
		fields(t, live, "welcome")["connection"].(string):         ofGuest,
		string(text): ofUser,
		alice:        ofUser,
	} {
		if !form.MatchString(token) {
			t.Errorf("got %.200q, want %s", token, form)
		}
	}
}

// fields returns the data of the first event of a type in a stream's text.
func fields(t *testing.T, text, event string) (data map[string]any) {
	t.Helper()
	_, rest, _ := strings.Cut(text, "\nevent: "+event+"\n")
	_, rest, _ = strings.Cut(rest, "data: ")
	line, _, _ := strings.Cut(rest, "\n")
	if err := json.Unmarshal([]byte(line), &data); err != nil {
		t.Fatalf("%s: %v in %q", event, err, line)
	}
	return data
}
