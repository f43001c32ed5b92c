package bridge_test

import (
	"context"
	"log"
	"net/http"
	"time"

	"github.com/r3labs/sse/v2"

	"github.com/rollcall-go/rollcall/handlers/bridge"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A site that runs an r3labs server gets presence as the stream "site".
func Example() {
	tracker, err := track.New(memstore.New(), track.Config{})
	if err != nil {
		log.Fatal(err)
	}
	events := sse.New() // the site's own
	presenceStream, err := bridge.New(tracker, events, bridge.Config{})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go presenceStream.Run(ctx)

	http.Handle("/events", bridge.Deadline(events, 10*time.Second)) // /events?stream=site
}
