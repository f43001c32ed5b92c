package presencetest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

var errOut = errors.New("out of order")

func joined(id presence.UserID) []backend.Batch {
	user := presence.User{ID: id}
	return []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{
		{Kind: backend.OpJoin, User: user, Holder: "a.1", For: time.Hour},
	}}}
}

// online returns who is in the store itself.
func online(t *testing.T, store backend.Store) (ids []presence.UserID) {
	t.Helper()
	s, err := store.Snapshot(t.Context(), presence.Site)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range s.Members {
		ids = append(ids, m.ID)
	}
	slices.Sort(ids)
	return ids
}

func TestFaultsApply(t *testing.T) {
	for _, tt := range []struct {
		name    string
		fault   presencetest.Fault
		calls   []presencetest.Call
		wantErr error
		landed  bool
		takes   time.Duration
	}{
		{name: "none", landed: true},
		{name: "before", fault: presencetest.Fault{Err: errOut}, wantErr: errOut},
		{name: "after", fault: presencetest.Fault{Err: errOut, Landed: true}, wantErr: errOut, landed: true},
		{name: "another method", fault: presencetest.Fault{Err: errOut}, calls: []presencetest.Call{presencetest.CallSweep}, landed: true},
		{name: "delay", fault: presencetest.Fault{Delay: time.Second}, landed: true, takes: time.Second},
		{name: "too long a delay", fault: presencetest.Fault{Delay: time.Minute}, wantErr: context.DeadlineExceeded, takes: 10 * time.Second},
		{name: "hang", fault: presencetest.Fault{Hang: true}, wantErr: context.DeadlineExceeded, takes: 10 * time.Second},
		{name: "hang after", fault: presencetest.Fault{Hang: true, Landed: true}, wantErr: context.DeadlineExceeded, landed: true, takes: 10 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := memstore.New()
				faults := presencetest.NewFaults(memory)
				faults.Break(tt.fault, tt.calls...)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				began := time.Now()
				results := faults.Apply(ctx, slices.Concat(joined("u"), joined("v")))
				if len(results) != 2 || !errors.Is(results[0].Err, tt.wantErr) || !errors.Is(results[1].Err, tt.wantErr) {
					t.Errorf("got results %+v, want two with error %v", results, tt.wantErr)
				}
				if got := time.Since(began); got != tt.takes {
					t.Errorf("it took %v, want %v", got, tt.takes)
				}
				if got := len(online(t, memory)) == 2; got != tt.landed {
					t.Errorf("landed: got %v, want %v", got, tt.landed)
				}
			})
		})
	}
}

// Every method meets its own fault, and works again once healed.
func TestFaultsEveryCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		faults := presencetest.NewFaults(memstore.New())
		calls := map[presencetest.Call]func() error{
			presencetest.CallApply:     func() error { return faults.Apply(ctx, joined("u"))[0].Err },
			presencetest.CallSweep:     func() error { _, err := faults.Sweep(ctx, backend.SweepOptions{Limit: 1}); return err },
			presencetest.CallPoll:      func() error { _, err := faults.Poll(ctx, backend.Poll{Process: "a", Term: time.Hour}); return err },
			presencetest.CallAge:       func() error { _, err := faults.Age(ctx, time.Hour); return err },
			presencetest.CallTrim:      func() error { _, err := faults.Trim(ctx, time.Hour, 1); return err },
			presencetest.CallSnapshot:  func() error { _, err := faults.Snapshot(ctx, presence.Site); return err },
			presencetest.CallLog:       func() error { _, err := faults.Log(ctx, presence.Site, ""); return err },
			presencetest.CallCounts:    func() error { _, err := faults.Counts(ctx, presence.Site); return err },
			presencetest.CallSightings: func() error { _, err := faults.Sightings(ctx, presence.Site, "u"); return err },
			presencetest.CallStatuses:  func() error { _, err := faults.Statuses(ctx, "u"); return err },
			presencetest.CallPutStatus: func() error { _, err := faults.PutStatus(ctx, "u", backend.ChosenStatus{}, true); return err },
			presencetest.CallSecret:    func() error { _, err := faults.Secret(ctx, make([]byte, 32)); return err },
			presencetest.CallHear:      func() error { return faults.Hear(ctx) },
			presencetest.CallTopics:    func() error { _, err := faults.Topics(ctx, "", 1); return err },
			presencetest.CallInspect:   func() error { _, err := faults.Inspect(ctx, presence.Site, "", 1); return err },
			presencetest.CallClaimConsumer: func() error {
				_, err := faults.ClaimConsumer(ctx, "c", backend.ConsumerClaim{Holder: "h", For: time.Hour})
				return err
			},
			presencetest.CallCommitConsumer: func() error {
				_, err := faults.CommitConsumer(ctx, "c", backend.ConsumerStep{Holder: "h", For: time.Hour})
				return err
			},
			presencetest.CallReadConsumer: func() error { _, err := faults.ReadConsumer(ctx, "c"); return err },
			presencetest.CallRecent: func() error {
				_, err := faults.Recent(ctx, presence.Site, backend.RecentQuery{Limit: 1})
				return err
			},
			presencetest.CallWatch: func() error {
				_, err := faults.Watch(ctx, presence.Site, backend.Watcher{Diff: func(backend.Diff) {}})
				return err
			},
			presencetest.CallSend:       func() error { return faults.Send(ctx, backend.Broadcast{Topic: presence.Site, Data: []byte("!1{}")}) },
			presencetest.CallExportUser: func() error { _, err := faults.ExportUser(ctx, "u"); return err },
			presencetest.CallEraseUser:  func() error { return faults.EraseUser(ctx, backend.Erasure{User: "u"}) },
			presencetest.CallAddErasure: func() error { _, err := faults.AddErasure(ctx, "u", time.Hour); return err },
			presencetest.CallClaimErasures: func() error {
				_, err := faults.ClaimErasures(ctx, 1, time.Hour)
				return err
			},
			presencetest.CallEndErasure: func() error { return faults.EndErasure(ctx, backend.Erasure{User: "u"}) },
			presencetest.CallPublish:    func() error { return faults.Publish(ctx, backend.Notice{}) },
			presencetest.CallListen: func() error {
				_, err := faults.Listen(ctx, func(backend.Notice) {})
				return err
			},
		}
		if got, want := len(calls), len(presencetest.AllCalls()); got != want {
			t.Fatalf("the test knows %d methods, want %d", got, want)
		}
		for _, name := range presencetest.AllCalls() {
			faults.Break(presencetest.Fault{Err: errOut, Times: 2}, name)
			for i, want := range []error{errOut, errOut, nil} {
				if err := calls[name](); !errors.Is(err, want) {
					t.Errorf("%s, call %d: got %v, want %v", name, i+1, err, want)
				}
			}
			if got := faults.Calls(name); got != 3 {
				t.Errorf("%s was called %d times, want 3", name, got)
			}
		}
		faults.Break(presencetest.Fault{Err: errOut})
		for name, call := range calls {
			if err := call(); !errors.Is(err, errOut) {
				t.Errorf("%s: got %v, want %v", name, err, errOut)
			}
		}
		faults.Heal()
		for name, call := range calls {
			if err := call(); err != nil {
				t.Errorf("%s, healed: got %v, want no error", name, err)
			}
		}
	})
}

func TestFaultsBus(t *testing.T) {
	for _, tt := range []struct {
		name string
		bus  presencetest.Disturbance
		want string // of five joins, and two after Heal
		late time.Duration
	}{
		{name: "calm", want: "abcdeyz"},
		{name: "lose", bus: presencetest.Disturbance{Lose: 2}, want: "cdeyz"},
		{name: "swap", bus: presencetest.Disturbance{Swap: true}, want: "bacdeyz"},
		{name: "delay", bus: presencetest.Disturbance{Delay: time.Second}, want: "abcdeyz", late: time.Second},
		{name: "all", bus: presencetest.Disturbance{Lose: 1, Swap: true, Delay: time.Second}, want: "cbdeyz", late: time.Second},
		{name: "lose and swap the last", bus: presencetest.Disturbance{Lose: 4, Swap: true}, want: "eyz"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				faults := presencetest.NewFaults(memstore.New())
				var got string
				var late time.Duration
				began := time.Now()
				stop, err := faults.Watch(t.Context(), presence.Site, backend.Watcher{Diff: func(d backend.Diff) {
					got += string(d.Joins[0].ID)
					late = max(late, time.Since(began))
				}})
				if err != nil {
					t.Fatal(err)
				}
				join := func(ids string) {
					for _, id := range ids {
						faults.Apply(t.Context(), joined(presence.UserID(id)))
					}
				}
				faults.Disturb(tt.bus)
				join("abcde")
				faults.Heal()
				join("yz") // they do not overtake what is on its way
				time.Sleep(time.Minute)
				stop()
				join("x")
				if got != tt.want || late != tt.late {
					t.Errorf("got %q, %v late; want %q, %v late", got, late, tt.want, tt.late)
				}
			})
		})
	}
}

// What is on its way when a watch or a listening stops is lost, and the stop
// does not wait for it.
func TestFaultsStopLosesDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		faults.Disturb(presencetest.Disturbance{Delay: time.Second}) // also for those who come later
		delivered := 0
		stopWatch, err := faults.Watch(t.Context(), presence.Site, backend.Watcher{Diff: func(backend.Diff) { delivered++ }})
		if err != nil {
			t.Fatal(err)
		}
		stopListen, err := faults.Listen(t.Context(), func(backend.Notice) { delivered++ })
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		faults.Apply(t.Context(), joined("u"))
		if err := faults.Publish(t.Context(), backend.SignOutNotice("u")); err != nil {
			t.Fatal(err)
		}
		stopWatch()
		stopListen()
		if took := time.Since(began); took != 0 || delivered != 0 {
			t.Errorf("stopping took %v, and %d were delivered; want no time and none", took, delivered)
		}
		time.Sleep(time.Minute)
		if delivered != 0 {
			t.Errorf("%d were delivered after stop, want none", delivered)
		}
	})
}
