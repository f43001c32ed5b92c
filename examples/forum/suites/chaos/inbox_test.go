package chaos_test

import (
	"encoding/json"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/pgtest"
)

// TestChaosReplies kills nodes while members reply. Each post that is there, and no other, has
// notified the thread's authors once, and is in the thread's feed once (rule F1); each that a
// member was told of is there.
func TestChaosReplies(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"SQLite", "Postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			database := "file:" + filepath.Join(t.TempDir(), "forum.db")
			if kind == "Postgres" {
				database = pgtest.Database(t)
			}
			nodes := []*forumtest.Node{newSQLNode(t, database), newSQLNode(t, database)}
			var work sync.WaitGroup
			var mu sync.Mutex
			told := map[string]bool{} // addresses of posts
			begin := time.Now()
			enough := func() bool { // once members got through, also on a busy machine
				mu.Lock()
				defer mu.Unlock()
				return time.Since(begin) > 2*time.Second && (len(told) >= 10 || time.Since(begin) > forumtest.Patience)
			}
			for i, name := range []string{"Eve", "Frank", "Grace"} {
				work.Go(func() {
					for n := i; !enough(); n++ {
						if address := tryReply(t, nodes[n%2].URL(""), name); address != "" {
							mu.Lock()
							told[address] = true
							mu.Unlock()
						}
					}
				})
			}
			rnd := rand.New(rand.NewPCG(1, 0))
			for n := 0; !enough(); n++ {
				time.Sleep(time.Duration(200+rnd.IntN(300)) * time.Millisecond)
				nodes[n%2].Kill()
				nodes[n%2].Run()
			}
			work.Wait()

			bob := (&forumtest.Forum{URL: nodes[0].URL("")}).User(t, "Bob")
			posted := map[string]bool{}
			for _, found := range regexp.MustCompile(`<article class="post" id="(post-\d+)"`).FindAllStringSubmatch(bob.Get("/threads/3").Body, -1) {
				posted["/threads/3#"+found[1]] = true
			}
			for address := range told {
				if !posted[address] {
					t.Errorf("%s is not there, and its writer was told so", address)
				}
			}
			replies := len(posted) - 4 // of the forum's beginning
			t.Logf("%d replies, of which %d were told", replies, len(told))
			if replies < 10 {
				t.Fatalf("got %d replies, want 10 or more for the test", replies)
			}
			notified, shown := 0, 0
			forumtest.Await(t, "the relay of all", func() bool {
				notified = 0
				for _, item := range itemsOf(t, bob, "inbox") {
					notified += item.N
				}
				shown = len(itemsOf(t, bob, "feed:thread:3"))
				return notified >= replies && shown >= min(replies, 100)
			})
			if notified != replies || shown != min(replies, 100) {
				t.Errorf("got %d notifications and %d items for %d replies, want one each", notified, shown, replies)
			}
		})
	}
}

func newSQLNode(t *testing.T, database string) *forumtest.Node {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &forumtest.Node{T: t, Addr: l.Addr().String(), Args: []string{"-sql", database}}
	_ = l.Close()
	n.Run()
	t.Cleanup(n.Kill)
	return n
}

// tryReply posts to the third thread, and returns the address of the post, "" if the node is
// gone or refuses.
func tryReply(t *testing.T, node, name string) string {
	jar, _ := cookiejar.New(nil)
	at, err := url.Parse(node)
	if err != nil {
		t.Error(err)
		return ""
	}
	jar.SetCookies(at, []*http.Cookie{{Name: forumtest.CookieName, Value: name, Path: "/"}})
	client := http.Client{Jar: jar, Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.PostForm(node+"/threads/3/replies", url.Values{"text": {"A chair."}})
	if err != nil {
		time.Sleep(50 * time.Millisecond)
		return ""
	}
	_ = res.Body.Close()
	time.Sleep(60 * time.Millisecond)
	return res.Header.Get("Location")
}

type feedItem struct{ N int }

func itemsOf(t *testing.T, v *forumtest.Visitor, topic string) []feedItem {
	t.Helper()
	var answer struct{ Items []feedItem }
	if res := v.Get("/presence/feed?limit=100&topic=" + topic); res.Status == http.StatusOK {
		if err := json.Unmarshal([]byte(res.Body), &answer); err != nil {
			t.Fatal(err)
		}
	}
	return answer.Items
}
