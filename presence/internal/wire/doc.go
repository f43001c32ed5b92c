// Package wire has the forms of what nodes write into a store and read out of it: names inside of
// the store, entries of rosters, and the JSON of events. Stores and the engine share it.
package wire
