package client_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rollcall-go/rollcall/handlers/client"
	"github.com/rollcall-go/rollcall/presence"
)

// A program that prints joins and leaves until it is stopped.
func ExampleFollow() {
	var roster client.Roster
	topics := []presence.Topic{presence.Site, "thread:42"}
	for event, err := range client.Follow(context.Background(), "https://example.com/presence", topics, client.Options{}) {
		if err != nil {
			log.Fatal(err) // a topic may not be seen, say
		}
		change := roster.Apply(event)
		for _, user := range change.Joined {
			fmt.Println(user.Name, "is in", change.Topic)
		}
		for _, leave := range change.Left {
			fmt.Println(leave.User.Name, "has left", change.Topic)
		}
	}
}
