// Command peers plays failures against Rollcall and against other servers that know who is
// online, two nodes each, and judges what a page shows meanwhile. README.md says what is
// measured.
package main

import (
	"time"
)

// A config says what is played.
type config struct {
	NodeModules string        // where packages of npm are
	Users       int           // on each node, where a scenario does not say otherwise
	Joins       int           // in the storm
	Watch       time.Duration // how long a scenario watches at least after its failure; 0: as it says
}

func main() {}
