package redisstore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

func TestOpen(t *testing.T) {
	for text, want := range map[string]string{
		"redis://127.0.0.1:6379":                  "one 127.0.0.1:6379, 1s 2s 2s, 3 retries",
		"redis://user:secret@example.com:6380/2":  "one example.com:6380, 1s 2s 2s, 3 retries",
		"unix:///run/redis.sock":                  "one /run/redis.sock, 1s 2s 2s, 3 retries",
		"127.0.0.1:6379":                          "one 127.0.0.1:6379, 1s 2s 2s, 3 retries",
		"127.0.0.1:7001,127.0.0.1:7002":           "cluster 127.0.0.1:7001 127.0.0.1:7002, 1s 2s 2s, -1 retries",
		"redis://127.0.0.1:7001, 127.0.0.1:7002,": "cluster 127.0.0.1:7001 127.0.0.1:7002, 1s 2s 2s, -1 retries",
		"redis://a:1?dial_timeout=3s&read_timeout=500ms&write_timeout=4s&max_retries=7":     "one a:1, 3s 500ms 4s, 7 retries",
		"redis://a:1?dial_timeout=3s&read_timeout=500ms&write_timeout=4s&max_retries=7,b:2": "cluster a:1 b:2, 3s 500ms 4s, 7 retries",
	} {
		client, err := redisstore.OpenClient(text)
		if err != nil {
			t.Errorf("Open(%q): %v", text, err)
			continue
		}
		var got string
		switch c := client.(type) {
		case *redis.Client:
			o := c.Options()
			got = fmt.Sprintf("one %s, %v %v %v, %d retries", o.Addr, o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.MaxRetries)
		case *redis.ClusterClient:
			o := c.Options()
			got = fmt.Sprintf("cluster %s, %v %v %v, %d retries", strings.Join(o.Addrs, " "), o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.MaxRetries)
		}
		if got != want {
			t.Errorf("Open(%q): got %q, want %q", text, got, want)
		}
		client.Close()
	}
}

// An error names the fault, and no password.
func TestOpenRefuses(t *testing.T) {
	for text, fault := range map[string]string{
		"":                                       "neither host:port",
		",":                                      "no address",
		"localhost":                              `"localhost" is neither host:port`,
		"http://user:secret@x":                   "http",
		"redis://%zz:secret@x":                   "invalid URL escape",
		"redis://a:b:c":                          "redis://",
		"redis://u:secret@a:1/two":               "database",
		"redis://u:secret@a:1?wait=soon":         "unexpected option: wait",
		"redis://u:secret@a:1?read_timeout=soon": "read_timeout",
		"redis://u:secret@a:1?read_timeout=soon,b:2": "read_timeout",
		"unix:///a,unix:///b":                        "not by a socket",
		"redis://u:secret@a:1/2,b:2":                 "no database but 0",
		"a:1,b":                                      `"b" is neither host:port`,
		"redis://u:secret@h:99999":                   `"h:99999": the port must be a number from 1 to 65535`,
		"rediss://h:0":                               `"h:0": the port`,
		"h:99999":                                    `"h:99999": the port`,
		"h:":                                         `"h:": the port`,
		"h:redis":                                    `the port must be a number`,
		"a:1,redis://b:65536":                        `"b:65536": the port`,
	} {
		client, err := redisstore.OpenClient(text)
		switch {
		case err == nil:
			client.Close()
			t.Errorf("Open(%q): got no error", text)
		case strings.Contains(err.Error(), "secret"):
			t.Errorf("Open(%q): the error gives the password away: %v", text, err)
		case !strings.Contains(err.Error(), fault):
			t.Errorf("Open(%q): got %q, want it to name the fault: %q", text, err, fault)
		}
	}
}

// Nothing that is written where an address belongs may show a password in an
// error, which stands in logs and on terminals.
func TestOpenShowsNoPassword(t *testing.T) {
	for _, text := range []string{
		"default:s3cret@host:6379", "s3cret@host:6379", ":s3cret@host", "default:s3cret", "default:s3cret:host:6379",
		"redis:default:s3cret@host:6379", "redis//default:s3cret@host:6379", "redis:/default:s3cret@host:6379",
		"redis://default:s3cret@host:port", "redis://default:s3cret@host:99999", "redis://default:s3cret:host:6379",
		"redis://default:s3cret/@host:6379", "redis://default:s3/s3cret@host:6379", "redis://default:s3?s3cret@host:6379",
		"redis://default:s3#s3cret@host:6379", "redis://default:%s3cret@host:6379", "redis://default:s3cret%@host:6379",
		"redis://default:1/s3cret@host:6379", "redis://default:1?s3cret@host=1", "redis://default:1/1?s3cret@host:6379",
		"redis://default:s3cret@host:6379/x", "redis://default:s3cret@host:6379/1/2", "redis://default:s3cret@[::1",
		"redis://default:s3cret @host:6379", "redis://default:s3cret\x7f@host:6379", "redis://s3cret@host:0", "redis://:s3cret@host:0",
		"http://default:s3cret@host:6379", "unix://default:s3cret@", "unix:///a@s3cret/b?x=1", "unix://default:s3cret@/run/redis.sock?db=x",
		"unix://default:s3cret@/run/redis.sock,", "unix://default:s3cret@/run/redis.sock,host:6379", "host:6379,unix://default:s3cret@/run/redis.sock",
		"redis://default:s3,s3cret@host:6379", "redis://default:1,s3cret@host:6379", "host:6379,default:s3cret@host:6379",
		"host:6379,redis://default:s3cret@host:6379/3", "redis://default:s3cret@host:6379?wait=1,host:6379",
	} {
		client, err := redisstore.OpenClient(text)
		if err == nil {
			client.Close()
			t.Errorf("Open(%q): got no error", text)
		} else if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("Open(%q): the error shows the password: %v", text, err)
		}
	}
}

// Neither does a text that nobody thought of: a password is what stands before an @.
func FuzzOpenShowsNoPassword(f *testing.F) {
	f.Add("redis://default:", "@host:6379")
	f.Add("default:", "@host:6379")
	f.Add("host:1,unix://u:", "@/run/redis.sock")
	f.Add("redis://u:1/", "@host:6379/x?y")
	f.Add("redis://u:1,", "@host,")
	f.Fuzz(func(t *testing.T, before, after string) {
		const password = "s3cretpassw0rd"
		if !strings.HasPrefix(after, "@") || strings.Contains(after, password) {
			t.Skip()
		}
		client, err := redisstore.OpenClient(before + password + after)
		if err == nil {
			client.Close()
		} else if strings.Contains(err.Error(), password) {
			t.Errorf("Open(%q): the error shows the password: %v", before+password+after, err)
		}
	})
}
