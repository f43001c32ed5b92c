package redisstore

import (
	"errors"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// An Answer is an error that a server answers.
type Answer string

func (a Answer) Error() string { return string(a) }
func (Answer) RedisError()     {}

// Out reports whether an answer says that the server cannot serve now, and Refused whether it
// refused the call alone.
func (a Answer) Out() bool     { return errors.Is(verdict(a), presence.ErrStoreOut) }
func (a Answer) Refused() bool { return errors.Is(verdict(a), presence.ErrRefused) }

// HearTime has the server with the notices tell a time.
func (s *Store) HearTime(now time.Time) { s.servers.hears(now.UnixMilli(), time.Now()) }

// Rest makes the node one that nobody has used for a while, and Rests reports whether it is.
func (s *Store) Rest() { s.pace.last.Store(int64(-restsAfter)) }

func (s *Store) Rests() bool { return s.pace.rests() }

// UnderWay returns how many writes are under way.
func (s *Store) UnderWay() int { return len(s.writes.slots) }

// KeepLogs sets how long the logs of empty topics stay.
func (s *Store) KeepLogs(d time.Duration) { s.keepLog = d }

// EncodeStatus and DecodeStatus are the form of a user's status and visibility.
func EncodeStatus(u presence.User) string { return encodeStatus(u) }

func DecodeStatus(text string) (presence.Status, *presence.Visibility, bool) {
	return decodeStatus(text)
}
