package main

import (
	"slices"
	"time"
)

// A scenario is a failure, or something that only looks like one.
type scenario struct {
	letter string
	title  string // as tables and pictures show it
	needs  []ingredient
	// alone: figures of load are measured, so that nothing else is played meanwhile.
	alone bool
	play  func(*stage) error
	// headline is the failure from which the seconds in tables and pictures count: 0 is the first
	// that play tells.
	headline int
}

// scenarios are the columns, in the order of the tables.
var scenarios = []*scenario{
	{letter: "A", title: "two tabs, then none", play: tabs},
	{letter: "D", title: "30 navigations", needs: []ingredient{aSecondNode}, play: navigations(1, 2), headline: 1},
	{letter: "D1", title: "30 navigations on one node", play: navigations(watched, watched), headline: 1},
	{letter: "B", title: "kill -9, users stay away", needs: []ingredient{aSecondNode}, play: crash},
	{letter: "B2", title: "kill -9, users come back", needs: []ingredient{aSecondNode}, play: crashAndReturn, headline: 1},
	{letter: "N", title: "a node is deployed", play: deploy},
	{letter: "M", title: "the page's node is killed", play: ownCrash},
	{letter: "S", title: "a node stalls for 15 s", needs: []ingredient{aSecondNode}, play: standstill, headline: 1},
	{letter: "C", title: "FLUSHALL", needs: []ingredient{aRedis}, play: wipe},
	{letter: "G", title: "Redis away for 15 s", needs: []ingredient{aRedis}, play: outage(15 * time.Second), headline: 1},
	{letter: "G2", title: "Redis away for 60 s", needs: []ingredient{aRedis}, play: outage(time.Minute), headline: 1},
	{letter: "H", title: "Redis fails over", needs: []ingredient{aRedis}, play: failover},
	{letter: "V", title: "10 clients vanish", play: vanish},
	{letter: "F", title: "one of 50 pages stops reading", needs: []ingredient{aConnection}, play: slowReader, headline: 1},
	{letter: "R", title: "a minute at rest", play: rest},
	{letter: "J", title: "many join in ten seconds", alone: true, play: storm(1), headline: 1},
	{letter: "J2", title: "ten times as many join", needs: []ingredient{aLeanPage}, alone: true, play: storm(10), headline: 1},
}

// possible reports whether a peer has what a scenario breaks.
func (sc *scenario) possible(p *peer) bool {
	return !slices.ContainsFunc(sc.needs, func(i ingredient) bool { return slices.Contains(p.without, i) })
}

// Times that scenarios share.
const (
	calm  = 3 * time.Second  // before a failure, once all is right
	quiet = 15 * time.Second // after which a scenario is over if all stayed right
)
