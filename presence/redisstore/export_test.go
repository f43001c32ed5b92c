package redisstore

import "time"

// KeepLogs sets how long the logs of empty topics stay.
func (s *Store) KeepLogs(d time.Duration) { s.keepLog = d }
