// Package jobs does what presence needs done from time to time, on robfig/cron:
//
//   - sweep: expired leases are removed and their leaves announced.
//   - age: the current set of page views becomes the old one, once a period.
//   - trim: users who were last seen long ago are forgotten, and statuses that were
//     chosen long ago.
//
// [Start] runs all three in a process. Every node of a fleet may do so: the store
// sees to it that a leave is announced once and that ageing happens once a
// period, however many nodes ask, and however often. A site with a system cron of its own calls
// [Sweep], [Age] and [Trim] instead, of which Sweep matters most: until it runs,
// a user who vanished without a word is shown as online.
package jobs
