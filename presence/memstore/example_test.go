package memstore_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

func Example() {
	tracker, err := track.New(memstore.New(), track.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer tracker.Close(context.Background())

	alice := presence.Visitor{User: presence.User{ID: "alice", Name: "Alice"}}
	page, err := tracker.Connect(context.Background(), track.ConnectOptions{
		Visitor: alice,
		Topics:  []presence.Topic{presence.Site},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer page.Close()

	view, err := tracker.View(context.Background(), presence.Site)
	if err != nil {
		log.Fatal(err)
	}
	for _, member := range view.Newest(10) {
		fmt.Println(member.DisplayName(), member.Status)
	}
	// Output: Alice online
}
