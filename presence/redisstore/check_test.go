package redisstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/redisstore/redistest"
)

func TestCheck(t *testing.T) {
	server := redistest.Start(t)
	client := server.Client()
	check := func(client redis.UniversalClient) error {
		s := redisstore.New(client, redisstore.Config{Timeout: time.Second})
		defer s.Close()
		return s.Check(t.Context())
	}
	if err := check(client); err != nil {
		t.Errorf("got %v, want a server that will do", err)
	}
	if left := client.Keys(t.Context(), "*").Val(); len(left) > 0 {
		t.Errorf("got keys %q left over, want none", left)
	}
	for _, forbidden := range []string{"xadd", "zadd", "evalsha", "subscribe", "pfadd", "publish"} {
		if err := client.Do(t.Context(), "ACL", "SETUSER", "limited", "reset", "on", ">secret", "~*", "&*", "+@all", "-"+forbidden).Err(); err != nil {
			t.Fatal(err)
		}
		o := *client.Options()
		o.Username, o.Password = "limited", "secret"
		limited := redis.NewClient(&o)
		err := check(limited)
		if !errors.Is(err, redisstore.ErrUnfit) {
			t.Errorf("without %s: got %v, want ErrUnfit", forbidden, err)
		}
		limited.Close()
	}
	server.Kill()
	if err := check(client); !errors.Is(err, presence.ErrStoreOut) {
		t.Errorf("a server that is gone: got %v, want ErrStoreOut", err)
	}
}

func TestOpen(t *testing.T) {
	for text, want := range map[string]string{
		"redis://127.0.0.1:6379":                  "one 127.0.0.1:6379",
		"redis://user:secret@example.com:6380/2":  "one example.com:6380",
		"unix:///run/redis.sock":                  "one /run/redis.sock",
		"127.0.0.1:6379":                          "one 127.0.0.1:6379",
		"127.0.0.1:7001,127.0.0.1:7002":           "cluster 127.0.0.1:7001,127.0.0.1:7002",
		"redis://127.0.0.1:7001, 127.0.0.1:7002,": "cluster 127.0.0.1:7001,127.0.0.1:7002",
	} {
		client, err := redisstore.Open(text)
		if err != nil {
			t.Errorf("Open(%q): %v", text, err)
			continue
		}
		var got string
		switch c := client.(type) {
		case *redis.Client:
			got = "one " + c.Options().Addr
		case *redis.ClusterClient:
			got = "cluster " + strings.Join(c.Options().Addrs, ",")
		}
		if got != want {
			t.Errorf("Open(%q): got %q, want %q", text, got, want)
		}
		client.Close()
	}
	for _, bad := range []string{"", ",", "localhost", "http://user:secret@x", "redis://%zz:secret@x", "unix:///a,unix:///b", "redis://a:b:c"} {
		client, err := redisstore.Open(bad)
		if err == nil {
			client.Close()
			t.Errorf("Open(%q): got no error", bad)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("Open(%q): the error gives the password away: %v", bad, err)
		}
	}
}
