// Package bound lets the programs that a test starts end with the test's own
// process, also where that is killed, or panics because it took too long: no
// cleanup runs then, and browsers and servers would stay behind.
package bound
