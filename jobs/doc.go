// Package jobs runs the periodic work of presence, on robfig/cron:
//
//   - sweep removes expired leases and announces the leaves of their users.
//   - age turns the current set of page views into the old one, once a period.
//   - trim removes last-seen times and chosen statuses that are too old.
//
// [Start] runs all three in a process. Every node of a fleet may do so: the store
// announces each leave once and ages once a period, however many nodes ask, and however
// often. A site with a cron of its own calls [Sweep], [presence.Tracker.Age] and
// [presence.Tracker.Trim] instead. Sweep matters most: until it runs, a user who vanished
// is shown as online.
package jobs
