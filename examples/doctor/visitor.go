package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
)

// The bounds of what a site may send, and of how long it may take.
const (
	maxPage     = 2 << 20   // bytes of a page
	maxBody     = 256 << 10 // bytes of another answer
	maxHeader   = 64 << 10  // bytes
	dialTime    = 20 * time.Second
	requestTime = 30 * time.Second // of a request, beside what it waits on purpose
	maxLeads    = 5                // redirects in a row
)

// userAgent is not that of a crawler, which presence does not count.
const userAgent = "Mozilla/5.0 (compatible; Rollcall Doctor)"

// A network is how the doctor reaches the site.
type network struct {
	both, http1 *http.Transport // with HTTP/2 where the site has it; and without
	hasty       atomic.Int64    // requests that were refused because there were too many
}

func newNetwork(insecure bool) *network {
	n := &network{}
	transport := func(http2 bool) *http.Transport {
		protocols := new(http.Protocols)
		protocols.SetHTTP1(true)
		protocols.SetHTTP2(http2)
		return &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: dialTime}).DialContext,
			TLSHandshakeTimeout:    dialTime,
			TLSClientConfig:        &tls.Config{InsecureSkipVerify: insecure},
			DisableCompression:     true, // the stream asks for it as browsers do
			MaxResponseHeaderBytes: maxHeader,
			Protocols:              protocols,
		}
	}
	n.both, n.http1 = transport(true), transport(false)
	return n
}

func (n *network) close() {
	n.both.CloseIdleConnections()
	n.http1.CloseIdleConnections()
}

// A visitor is a browser without a screen. It keeps cookies, and sends them to the site alone.
type visitor struct {
	page   *url.URL
	client *http.Client
	net    *network
}

var (
	errElsewhere = errors.New("the site leads to another host")
	errPlain     = errors.New("the site redirects from https to http")
	errSwitched  = errors.New("the site answers with another protocol")
)

// visitor returns a new visitor with some cookies.
func (n *network) visitor(page *url.URL, cookies []*http.Cookie) *visitor {
	jar, _ := cookiejar.New(nil) // it cannot fail
	jar.SetCookies(page, cookies)
	return &visitor{page: page, net: n, client: &http.Client{
		Transport: n.both,
		Jar:       jar,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			switch {
			case r.URL.Hostname() != page.Hostname():
				return fmt.Errorf("%w, %s", errElsewhere, r.URL.Host)
			case page.Scheme == "https" && r.URL.Scheme != "https":
				return fmt.Errorf("%w, %s", errPlain, r.URL.Host) // cookies would go there in the clear
			case len(via) > maxLeads:
				return errors.New("the site redirects in circles")
			}
			return nil
		},
	}}
}

// An answer is a response, read up to a bound.
type answer struct {
	status    int
	header    http.Header
	proto     string
	body      []byte
	truncated bool
	url       *url.URL  // after redirects
	sent      time.Time // the request
	took      time.Duration
	err       error
}

// detail returns what a refusal of the presence endpoints says; empty: it is no such refusal.
func (a answer) detail() string {
	var problem struct{ Detail string }
	if !strings.HasPrefix(a.header.Get("Content-Type"), "application/problem+json") || json.Unmarshal(a.body, &problem) != nil {
		return ""
	}
	return short(problem.Detail)
}

// what describes an answer that is not what was wanted.
func (a answer) what() string {
	switch detail := a.detail(); {
	case a.err != nil:
		return "no answer: " + short(a.err.Error())
	case detail != "":
		return fmt.Sprintf("status %d, %q", a.status, detail)
	case a.status/100 == 3:
		return fmt.Sprintf("a redirect to %s", short(a.header.Get("Location")))
	}
	return fmt.Sprintf("status %d", a.status)
}

// foreign reports whether the handler takes the site's own page for one of another origin.
func (a answer) foreign() bool {
	return a.status == http.StatusForbidden && strings.Contains(a.detail(), "another origin")
}

// busy reports whether an answer says that there were too many requests, or that the site
// cannot serve any at the moment.
func (a answer) busy() bool { return a.err == nil && tooMany(a.status, a.header) }

func tooMany(status int, header http.Header) bool {
	return status == http.StatusTooManyRequests ||
		status == http.StatusServiceUnavailable && !strings.HasPrefix(header.Get("Content-Type"), "application/problem+json")
}

// A wish is a request that a visitor sends.
type wish struct {
	method string // empty: GET
	url    *url.URL
	header map[string]string
	body   string
	wait   time.Duration // for which the site keeps the answer on purpose
	stay   bool          // redirects are not followed
	once   bool          // it is not repeated after there were too many
	page   bool          // the answer is a page
}

// do sends a request, and reads the answer. A request that is refused for the moment is sent
// again. It is noted if there were too many.
func (v *visitor) do(ctx context.Context, w wish) (a answer) {
	for tries := 0; ; tries++ {
		a = v.try(ctx, w)
		if a.busy() {
			v.net.hasty.Add(1)
		} else if a.status != http.StatusServiceUnavailable {
			return a
		}
		if w.once || tries == 2 || !wait.For(ctx, time.Second) {
			return a
		}
	}
}

func (v *visitor) try(ctx context.Context, w wish) (a answer) {
	ctx, cancel := context.WithTimeout(ctx, requestTime+w.wait)
	defer cancel()
	r, err := v.request(ctx, w)
	if err != nil {
		return answer{err: err}
	}
	client := *v.client
	if w.stay {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	a.sent = time.Now()
	resp, err := client.Do(r)
	if a.took = time.Since(a.sent); err != nil {
		a.err = reason(err)
		return a
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols { // the end of ctx would not end the body
		a.err = errSwitched
		return a
	}
	a.status, a.header, a.proto, a.url = resp.StatusCode, resp.Header, resp.Proto, resp.Request.URL
	most := maxBody
	if w.page {
		most = maxPage
	}
	a.body, err = io.ReadAll(io.LimitReader(resp.Body, int64(most)+1))
	a.took = time.Since(a.sent)
	if a.truncated = len(a.body) > most; a.truncated {
		a.body = a.body[:most]
	} else if err != nil {
		a.err = reason(err)
	}
	return a
}

// request returns a request as a browser sends it.
func (v *visitor) request(ctx context.Context, w wish) (*http.Request, error) {
	method := w.method
	if method == "" {
		method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(ctx, method, w.url.String(), bytes.NewReader([]byte(w.body)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", userAgent)
	if w.url.String() != v.page.String() { // the page's own script asks
		r.Header.Set("Referer", origin(v.page)+"/")
		if method != http.MethodGet {
			r.Header.Set("Origin", origin(v.page))
		}
		if trustworthy(v.page) {
			r.Header.Set("Sec-Fetch-Site", "same-origin")
			r.Header.Set("Sec-Fetch-Dest", "empty")
		}
	}
	for name, value := range w.header {
		r.Header.Set(name, value)
	}
	return r, nil
}

func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// trustworthy reports whether browsers take an origin for safe: they then say where a request
// comes from, and tabs can share a stream.
func trustworthy(u *url.URL) bool {
	host := u.Hostname()
	ip := net.ParseIP(host)
	return u.Scheme == "https" || host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// reason returns an error without the address that net/http puts before it.
func reason(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
