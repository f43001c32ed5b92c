// Package jobs runs the periodic work of presence, on robfig/cron:
//
//   - sweep removes expired leases and announces the leaves of their users.
//   - age turns the current set of page views into the old one, once a period.
//   - trim removes last-seen times and chosen statuses that are too old.
//   - relay moves messages from the outbox to feeds.
//   - digest sends a mail to users who were away while something unread came.
//   - trim_feeds removes items of feeds that are too old or too many.
//
// All of them are of all tenants. The last three run where the site has feeds: see Config.Feeds.
//
// [Start] runs all of them in a process. Every node of a fleet may do so: the store
// announces each leave once and ages once a period, one relay of a tenant is at work at a time,
// and a digest is claimed by one node, however many nodes ask, and however often. A site with a cron
// of its own calls [Sweep], [track.Tracker.Age], [track.Tracker.Trim] and the methods
// Relay, Digest and Trim of [feed.Keeper] instead. Sweep matters most: until it runs, a user
// who vanished is shown as online.
package jobs
