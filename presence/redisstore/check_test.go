package redisstore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storetest"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client()
	if err := storetest.Check(t, client); err != nil {
		t.Errorf("got %v, want a server that will do", err)
	}
	if left := client.Keys(t.Context(), "*").Val(); len(left) > 0 {
		t.Errorf("got keys %q left over, want none", left)
	}
	for forbidden, says := range map[string]string{
		"xadd": "XADD", "zadd": "ZADD", "eval": "EVAL", "evalsha": "EVALSHA", "pfadd": "PFADD", "publish": "PUBLISH", "subscribe": "subscribing",
	} {
		storetest.WantUnfit(t, "without "+forbidden, storetest.Check(t, limited(t, client, "~*", "&*", "+@all", "-"+forbidden)), says)
	}
	storetest.WantUnfit(t, "other keys", storetest.Check(t, limited(t, client, "~other:*", "&*", "+@all")), "+evalsha ~presence* &presence*")
	storetest.WantUnfit(t, "other channels", storetest.Check(t, limited(t, client, "~*", "resetchannels", "&other:*", "+@all")), "ACL SETUSER <user> +publish ~presence* &presence*")
	if err := storetest.Check(t, limited(t, client, "~presence:*", "resetchannels", "&presence:*", "+@all", "-@admin", "-info", "-keys")); err != nil {
		t.Errorf("a user of the prefix alone, who may not ask INFO: got %v, want one that will do", err)
	}
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{redistest.StartTCP(t).Addr}})
	defer cluster.Close()
	storetest.WantUnfit(t, "a single server as a cluster", storetest.Check(t, cluster), "no part of a cluster")
	server.Kill()
	if err := storetest.Check(t, client); !errors.Is(err, presence.ErrStoreOut) {
		t.Errorf("a server that is gone: got %v, want ErrStoreOut", err)
	}
}

// A node may start just as the server does, or as another one takes over.
func TestCheckWhileTheServerStartsAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client()
	client.AddHook(forgetful{server.Client()})
	if err := storetest.Check(t, client); err != nil {
		t.Errorf("got %v, want a server that will do", err)
	}
}

// forgetful lets a server forget its scripts before each single one that is asked of it, as if it started again.
type forgetful struct{ of *redis.Client }

func (f forgetful) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f forgetful) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (f forgetful) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			if err := f.of.ScriptFlush(ctx).Err(); err != nil {
				return err
			}
		}
		return next(ctx, cmd)
	}
}

// limited returns a client of a user with some rights.
func limited(t *testing.T, client *redis.Client, rights ...string) *redis.Client {
	t.Helper()
	args := []any{"ACL", "SETUSER", "limited", "reset", "on", ">secret"}
	for _, r := range rights {
		args = append(args, r)
	}
	noError(t, client.Do(t.Context(), args...).Err())
	o := *client.Options()
	o.Username, o.Password = "limited", "secret"
	c := redis.NewClient(&o)
	t.Cleanup(func() { c.Close() })
	return c
}

func TestCheckRefusesOtherServers(t *testing.T) {
	t.Parallel()
	renamed := redistest.Start(t, "--rename-command", "EVAL", "", "--rename-command", "PUBLISH", "tell")
	storetest.WantUnfit(t, "renamed commands", storetest.Check(t, renamed.Client()), "does not know EVAL, PUBLISH")

	node := redis.NewClient(&redis.Options{Addr: redistest.StartCluster(t, 1, 0).Addrs()[0]})
	defer node.Close()
	storetest.WantUnfit(t, "a cluster's node by itself", storetest.Check(t, node), "node of a cluster")

	old := redis.NewClient(&redis.Options{Addr: oldServer(t)})
	defer old.Close()
	storetest.WantUnfit(t, "an old server", storetest.Check(t, old), "Redis 6.0.16, and 6.2 or newer is needed")
}

// oldServer listens as a Redis 6.0 does that is asked for its version.
func oldServer(t *testing.T) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	var all sync.WaitGroup
	t.Cleanup(func() { l.Close(); all.Wait() })
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					command, err := readCommand(r)
					if err != nil {
						return
					}
					const info = "# Server\r\nredis_version:6.0.16\r\nredis_mode:standalone\r\n"
					switch {
					case command == "info":
						fmt.Fprintf(c, "$%d\r\n%s\r\n", len(info), info)
					case slices.Contains([]string{"client", "select"}, command):
						fmt.Fprint(c, "+OK\r\n")
					default:
						fmt.Fprintf(c, "-ERR unknown command `%s`\r\n", command)
					}
				}
			})
		}
	})
	return l.Addr().String()
}

// readCommand reads a command, and returns its name.
func readCommand(r *bufio.Reader) (name string, err error) {
	var args, size int
	if _, err := fmt.Fscanf(r, "*%d\r\n", &args); err != nil {
		return "", err
	}
	for i := range args {
		if _, err := fmt.Fscanf(r, "$%d\r\n", &size); err != nil {
			return "", err
		}
		arg := make([]byte, size+len("\r\n"))
		if _, err := io.ReadFull(r, arg); err != nil {
			return "", err
		}
		if i == 0 {
			name = strings.ToLower(string(arg[:size]))
		}
	}
	return name, nil
}

// A server that may evict any key is refused; one that may evict what has a time to
// live is not, and where nobody can tell it is taken.
func TestCheckEviction(t *testing.T) {
	client := redistest.Start(t).Client()
	for policy, fit := range map[string]bool{
		"noeviction": true, "volatile-lru": true, "volatile-ttl": true, "allkeys-lru": false, "allkeys-lfu": false, "allkeys-random": false,
	} {
		noError(t, client.ConfigSet(t.Context(), "maxmemory-policy", policy).Err())
		if err := storetest.Check(t, client); fit && err != nil {
			t.Errorf("%s: got %v, want a server that will do", policy, err)
		} else if !fit {
			storetest.WantUnfit(t, policy, err, "noeviction")
			if err := storetest.Check(t, limited(t, client, "~*", "&*", "+@all", "-info")); err != nil {
				t.Errorf("%s, without INFO: got %v, want nil", policy, err)
			}
		}
	}
}

// The rights that Check names are all that the store needs, and doc.go has them.
func TestRightsAreEnough(t *testing.T) {
	client := redistest.Start(t).Client()
	says := fmt.Sprint(storetest.Check(t, limited(t, client, "~*", "&*", "+@all", "-zadd")))
	_, line, _ := strings.Cut(says, "all that it needs: ")
	_, rights, ok := strings.Cut(line, ">PASSWORD ")
	if !ok || !strings.Contains(rights, "-@all +") {
		t.Fatalf("got %q, want the whole line for ACL SETUSER", says)
	}
	allowed := strings.Fields(rights)
	if strings.Contains(client.Info(t.Context(), "server").Val(), "redis_version:6.2.") { // see doc.go
		allowed = slices.DeleteFunc(allowed, func(right string) bool {
			return slices.Contains([]string{"+spublish", "+ssubscribe", "+sunsubscribe"}, right)
		})
	}
	if err := storetest.Check(t, limited(t, client, allowed...)); err != nil {
		t.Errorf("with the rights that it names: got %v, want nil", err)
	}
	doc, err := os.ReadFile("doc.go")
	noError(t, err)
	plain := strings.Join(strings.Fields(strings.ReplaceAll(string(doc), "\n//", " ")), " ")
	if !strings.Contains(plain, line) {
		t.Errorf("doc.go lacks the line %q", line)
	}
}
