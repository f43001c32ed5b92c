// Package simtest plays a whole fleet in one process: nodes, the store that they share, users
// and what fails, from a seed, in the virtual time of a testing/synctest bubble. It holds what
// every page saw against what was true. It has nothing but tests.
//
//	go test ./presence/simtest                                 games that failed once, quiet ones, and 100 seeds
//	SIM_SEEDS=10000 go test ./presence/simtest                 games of so many seeds, from SIM_FIRST (0) on
//	SIM_SEEDS=1 SIM_FIRST=42 SIM_SHRINK=1 go test ...          one seed, cut down to what fails
//	SIM_FEATURES="web threads" go test ...                      games with these features (feature_test.go)
//	SIM_SKIP="4 7" SIM_STOP=1 go test ...                      without some seeds, and up to one that fails
//	SIM_SEED=42 go test -v ./presence/simtest                  one seed, with all that happened
//	SIM_KNOWN=5 go test -run Known ./presence/simtest          the games that failed once, five times each
//	SIM_PLAYS=25 SIM_SHRINK=1 go test ...                      a game that seldom fails is played so often at each cut
//
// A game is a list of acts (act_test.go): what users do, and what fails. Each process has a link
// to the server (link_test.go, gate_test.go, server_test.go), which stalls, breaks and loses as
// that of a Redis does. The pages (page_test.go) of users (person_test.go) note what cannot be.
// What they are told of users is held against when the user hid, and went (told_test.go). Faults that are known are
// allowed while their causes go on, and for a bound after that: testdata/allowed.txt has the exceptions of docs/reliability.md
// as data (allowed_test.go).
// At rest all must show the truth (rest_test.go). Pages move to other nodes (move_test.go). What comes
// with a failure is played where the nodes have a rule for it (after_test.go), and after all others one
// failure alone (alone_test.go). Some games have more (feature_test.go): pages that
// read Server-Sent Events, a WebSocket or long polls (sse_test.go, socket_test.go, poll_test.go) of
// the real endpoints (site_test.go), pages that ask for a few users alone, a second topic
// (topics_test.go), people whom users watch (people_test.go), settings in a Directory
// (settings_test.go), signals (signals_test.go), and a cluster that fails in parts
// (cluster_test.go). A program may be told of joins and leaves (deliver_test.go), users may have an
// inbox (inbox_test.go), processes may stand still (pause_test.go), and the store may evict keys
// (evict_test.go), or start again with an old file (file_test.go). Nodes may follow so many topics that they
// ask which of them changed (changes_test.go). With SIM_SHRINK the acts of a seed that fails are left
// out one by one, until the shortest list that still fails is left. That is printed as a line of testdata/known.txt,
// with what happened.
//
// In the games of odd seeds a server that hung also does what its callers gave up, within the time of
// the call; with SIM_LATE=1 in all, and with SIM_LATE=0 in none.
//
// Directory planted has bugs for the engine, and says how many seeds find each.
//
// Of the 100,000 seeds from 93414500 on one failed when they were last played, and was cured. The 1,000 seeds that
// .ci/test plays hold.
package simtest
