// Package rollcall is the root of a module that shows who is online, live, on a
// server-rendered site. It holds no code; the packages below it do:
//
//   - presence has the words: topics, users, statuses. presence/track is the engine, which
//     knows who came and went: start there. presence/backend is the contract of stores.
//   - middleware records page views: nethttp, echov5 and ginv1 below it, itself for Echo 4.
//   - handlers serves the live streams, as plain http.Handlers.
//   - templates renders the widget, and the script that keeps it live.
//   - jobs runs what must happen now and then: ageing, sweeping, trimming.
//   - presence/presencetest is the kit that every store must pass.
//
// The program in examples/forum wires them all; examples/quickstart is the
// smallest site.
package rollcall
