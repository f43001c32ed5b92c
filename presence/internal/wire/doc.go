// Package wire has the encodings that nodes write into a store and read from it: names inside the store,
// entries of rosters, and the JSON of events. Stores and the engine share it.
package wire
