package storetest

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/internal/redistest"
)

// A ServerKind is a kind of server that the store must work on.
type ServerKind struct {
	Name  string
	Start func(t *testing.T) redis.UniversalClient
}

// The kinds of servers. A test skips Valkey if it is not installed. .ci/test installs it: Debian 13 has a
// package, and Debian 12 has one in its backports.
var (
	Standalone = ServerKind{"standalone", func(t *testing.T) redis.UniversalClient {
		return redistest.Start(t).Client()
	}}
	Valkey = ServerKind{"valkey", func(t *testing.T) redis.UniversalClient {
		return redistest.StartProgram(t, need.Program(t, "valkey", "valkey-server")).Client()
	}}
	OneNodeCluster = ServerKind{"one-node cluster", func(t *testing.T) redis.UniversalClient {
		return redistest.StartCluster(t, 1, 0, redistest.Patient()...).Client()
	}}
	Cluster = ServerKind{"three masters and replicas", func(t *testing.T) redis.UniversalClient {
		return redistest.StartCluster(t, 3, 1, redistest.Patient()...).Client()
	}}
)
