// Package rollcall shows who is online, live, on a server-rendered site. [New] makes all that
// a site needs, and [Site.Wrap] puts it around the site's own handler:
//
//	views := template.Must(template.New("home").Funcs(rollcall.Funcs()).Parse(
//		`{{presenceHead}} … {{whosOnline "site"}}`))
//	site, err := rollcall.New(identify, rollcall.Config{Views: views})
//	…
//	err = site.ListenAndServe(ctx, ":8080", sessions(site.Wrap(mux)))
//
// A Site is made of the packages below, and of nothing else. A site that needs more than a
// [Config] says uses them directly, as examples/forum does:
//
//   - presence has the words: topics, users, statuses. presence/track is the engine, which
//     knows who came and went. presence/backend is the contract of stores.
//   - middleware records page views: nethttp, echov5 and ginv1 below it, itself for Echo 4.
//   - handlers serves the live streams, as plain http.Handlers.
//   - templates renders the widget, and the script that keeps it live.
//   - jobs runs what must happen now and then: ageing, sweeping, trimming.
//   - presence/feed keeps inboxes and rooms; presence/sqlstore keeps them in a database.
//   - presence/presencetest is the kit that every store must pass.
//
// examples/quickstart is the smallest site.
package rollcall
