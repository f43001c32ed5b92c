package handlers

import (
	"sync/atomic"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/presence"
)

// limits counts requests, statuses and open connections, and refuses those beyond the
// limits of Config.
type limits struct {
	site     *siteCode
	counters *counters

	maxConnections int          // of this node; negative: any number
	connections    atomic.Int64 // open streams and polls
	tenants        openBy       // connections of each tenant but the empty one
	addresses      openBy       // connections of guests by address, in one tenant
	everywhere     openBy       // connections of guests by address, in all tenants
	lanes          *gate.Lanes
	reads          gate.Rates                  // rates of GET and HEAD requests
	writes         gate.Rates                  // rates of PUT, POST and DELETE requests
	beats          gate.Meter[presence.Holder] // rate of each connection, by its token
	statuses       gate.Meter[presence.UserID]
	audiences      gate.Meter[presence.UserID] // changes of who may see a user
	signals        gate.Meter[presence.UserID] // signals of a user; their pace depends on their type
}

// The rates that follow from Config.MaxRate.
const (
	readsPerWrites  = 5 // reads for every two writes
	writesPerStatus = 20
)

func newLimits(cfg *settings, site *siteCode, c *counters) *limits {
	l := &limits{
		site: site, counters: c, maxConnections: cfg.MaxConnections, lanes: gate.NewLanes(),
		tenants:    openBy{limit: cfg.MaxConnectionsPerTenant, open: make(map[string]int)},
		addresses:  openBy{limit: cfg.MaxConnectionsPerAddress, open: make(map[string]int)},
		everywhere: openBy{limit: cfg.MaxConnectionsPerAddress * gate.TenantsPerAddress, open: make(map[string]int)},
	}
	statuses := cfg.MaxRate / writesPerStatus
	if cfg.MaxRate > 0 {
		statuses = max(statuses, 1)
	}
	l.writes.Init(gate.NewPace(cfg.MaxRate, 1), &c.crowded)
	l.beats.Init(gate.NewPace(cfg.MaxRate, 1), &c.crowded)
	l.reads.Init(gate.NewPace(cfg.MaxRate*readsPerWrites/2, 4), &c.crowded)
	l.statuses.Init(gate.NewPace(statuses, 5), &c.crowded)
	l.audiences.Init(gate.NewPace(statuses, 20), &c.crowded)
	l.signals.Init(gate.Pace{}, &c.crowded)
	return l
}
