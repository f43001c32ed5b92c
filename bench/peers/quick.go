package main

import (
	"os"
	"path/filepath"
)

// quickPeers are the rows of the smoke test: both with times so short that a failure is over
// within seconds. They are in no table.
var quickPeers = []*peer{quickRollcall, quickPoller}

// cacheDir is where servers are kept that are built here.
func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "rollcall-peers")
}
