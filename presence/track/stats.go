package track

import (
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/deliver"
)

// counters are what a Tracker counts since it began.
type counters struct {
	diffsReceived  atomic.Uint64
	diffsPublished atomic.Uint64
	diffsMerged    atomic.Uint64
	gaps           atomic.Uint64
	resyncs        atomic.Uint64
	dropped        atomic.Uint64
	rejected       atomic.Uint64
	forgotten      atomic.Uint64
	aborted        atomic.Uint64
	refused        atomic.Uint64
	windows        atomic.Int64
	sweeps         atomic.Uint64
	swept          atomic.Uint64
	leaves         atomic.Uint64
	rotations      atomic.Uint64
	trimmed        atomic.Uint64
	sessions       *tally
	screenLag      *tally

	signals signalCounters

	resumedByDiff, resumedByState atomic.Uint64
	beatsByRequest, beatsByStream atomic.Uint64
	began                         time.Time
	sweptClean                    atomic.Int64 // when a sweep last left nothing behind, in nanoseconds since began
}

func newCounters() *counters {
	return &counters{sessions: newTally(sessionBounds), screenLag: newTally(screenLagBounds), began: time.Now()}
}

// sweepLag returns how long ago a sweep last left nothing behind.
func (c *counters) sweepLag() time.Duration {
	return time.Since(c.began) - time.Duration(c.sweptClean.Load())
}

// resumed counts an answer to a reader that came with a cursor.
func (c *counters) resumed(byDiff bool) {
	if byDiff {
		c.resumedByDiff.Add(1)
	} else {
		c.resumedByState.Add(1)
	}
}

// sessionBounds reach to the default of Config.MaxConnectionsPerUser.
var sessionBounds = []int64{1, 2, 3, 4, 8, 16, 32}

// screenLagBounds reach from the time of one write to a delay that a reader notices. The first change after a
// quiet moment takes microseconds, the next ones up to Config.MergeWindow.
var screenLagBounds = []int64{
	int64(time.Millisecond), int64(5 * time.Millisecond), int64(25 * time.Millisecond), int64(50 * time.Millisecond),
	int64(100 * time.Millisecond), int64(250 * time.Millisecond), int64(500 * time.Millisecond),
	int64(time.Second), int64(2500 * time.Millisecond), int64(5 * time.Second),
}

// Stats are a Tracker's figures: gauges of the present, and counters since it began.
type Stats struct {
	Connections    int  // open here
	ConnectedUsers int  // signed-in users who have any of them
	Topics         int  // kept current here
	Windows        int  // of these topics, that connections read: those of one Window of a topic share one
	Pending        int  // operations that wait for the store
	StoreOut       bool // the latest write to the store, or the latest read from it, failed

	// Kinds are the topics kept current here, by what stands before the colon:
	// at most Config.MaxTopics.
	Kinds map[string]KindStats

	DiffsReceived  uint64 // from the store
	DiffsPublished uint64 // to readers here, after merging
	DiffsMerged    uint64 // merged into the event of an earlier diff
	Gaps           uint64 // times that a topic here missed diffs, or the store lost data
	Resyncs        uint64 // states sent to readers who lagged behind
	Dropped        uint64 // operations dropped while the store was out: those of pages and beats
	Rejected       uint64 // operations given up because the store refused them
	Forgotten      uint64 // users and leases dropped because one of this node's memories was full
	Aborted        uint64 // connections that ended before they were open
	Refused        uint64 // connections over Config.MaxConnectionsPerUser

	// Work of calls of Sweep, Age and Trim on this node.
	Sweeps    uint64
	Swept     uint64 // leases that had expired
	Leaves    uint64 // users who left when these leases were removed
	Rotations uint64 // turns of a topic's current set into its old one
	Trimmed   uint64 // users whose last seen was forgotten

	// SweepLag is how long ago a sweep here last left no expired lease behind, or this
	// Tracker began: no lease is overdue for longer. In a fleet the least of all nodes
	// counts, since any node may sweep.
	SweepLag time.Duration

	// Readers that came with a cursor, counted for each topic: those that got the diff that they had missed,
	// if any, and those that got a state. Each long poll except the first is one.
	ResumedByDiff, ResumedByState uint64

	// Proofs of life of connections that hold a user. By request: calls of Tracker.Beat that found the
	// connection. By stream: calls of Connection.Beat and, without ConnectOptions.Beat, one in each
	// Config.Heartbeat.
	BeatsByRequest, BeatsByStream uint64

	// ScreenLag is the time from the arrival of changes at this node until they were written, including the
	// merge window. It counts once for all readers that are written to together, when the last one is
	// written. It leaves out readers that lag, and topics over Config.MaxRoster. See [Group.Written].
	ScreenLag Histogram

	// Sessions is how many connections a user had here, counted at each opening,
	// the new one included.
	Sessions Histogram

	// Calls are the calls of the store by method, in lower case. Every method has an entry.
	Calls map[string]CallStats
	// Deliveries are the consumers of [Tracker.Deliver] by name.
	Deliveries map[string]deliver.Stats
	// Store has the store's own figures.
	Store backend.StoreStats

	// Signals are the figures of signals.
	Signals SignalStats

	// People are the figures of people. They are zero without a [Config.Directory].
	People PeopleStats
}

// KindStats are the figures of the topics of one kind, added up.
type KindStats struct {
	Topics int
	Users  int // online
	Guests int
}
