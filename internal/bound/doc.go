// Package bound makes the programs that a test starts end with the test's process. Cleanups do not run if the
// process is killed, or panics after a timeout; browsers and servers would then stay behind.
package bound
