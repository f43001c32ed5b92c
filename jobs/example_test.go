package jobs_test

import (
	"context"
	"fmt"

	"github.com/rollcall-go/rollcall/jobs"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A site runs the jobs as long as it runs itself.
func Example() {
	tracker, err := track.New(memstore.New(), track.Config{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = tracker.Close(context.Background()) }()

	runner, err := jobs.Start(tracker, jobs.Config{})
	if err != nil {
		panic(err)
	}
	defer runner.Stop()
}

// A site with a system cron of its own calls the jobs by hand.
func ExampleSweep() {
	tracker, err := track.New(memstore.New(), track.Config{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = tracker.Close(context.Background()) }()

	swept, err := jobs.Sweep(context.Background(), tracker)
	fmt.Println(swept.Leaves, err)
	// Output: 0 <nil>
}
