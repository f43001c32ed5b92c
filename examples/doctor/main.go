// Doctor examines a site with presence from outside. It says in one sentence each what is
// wrong, and how to cure it:
//
//	go run ./examples/doctor https://forum.example.org/
//
// The address is that of a page that shows who is online. The doctor views the page a few
// times, as a new visitor does, and keeps a stream open for 35 seconds (-for), which shows
// read timeouts. With -cookie it is a signed-in user, who is online meanwhile. With -redis
// it also examines the store; it writes there under keys of its own and removes them.
//
// It exits with 0 if nothing is wrong, with 1 if something is, and with 2 if the site cannot
// be examined.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main, with arguments that a test can replace. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	var s *site
	if err == nil {
		s, err = visit(ctx, o)
	}
	found := 0
	if err == nil {
		defer s.close()
		found, err = s.examine(ctx, checks(), newReport(stdout, o.json))
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "doctor: the examination was interrupted")
		return 2
	case err != nil:
		fmt.Fprintln(stderr, "doctor:", clean(err.Error()))
		return 2
	case found > 0:
		return 1
	}
	return 0
}

// options are what the command line says.
type options struct {
	page     *url.URL
	prefix   string         // of the endpoints; empty: what the page says
	cookies  []*http.Cookie // of a signed-in user
	redis    string         // empty: the store is not examined
	hold     time.Duration  // how long the stream is kept open
	insecure bool           // any certificate will do
	json     bool
}

// The bounds of how long a stream is held.
const (
	shortestHold = time.Second
	longestHold  = 10 * time.Minute
)

const usage = `doctor examines a site with presence from outside: what is wrong, and how to cure it.

  doctor [flags] URL      URL is a page that shows who is online

`

// parse reads the command line.
func parse(args []string, stdout io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("doctor", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.prefix, "prefix", "", "`path` of the presence endpoints, such as /presence (default: what the page says)")
	flags.DurationVar(&o.hold, "for", 35*time.Second, "`time` for which a stream is kept open; a read timeout shorter than it shows")
	flags.StringVar(&o.redis, "redis", "", "`URL` of the site's Redis or Valkey, as the forum's flag -redis takes it")
	flags.BoolVar(&o.insecure, "insecure", false, "accept any certificate")
	flags.BoolVar(&o.json, "json", false, "print one JSON object a check")
	flags.Func("cookie", "`name=value` of the session of a signed-in user; repeat it for more", func(text string) error {
		cookies, err := http.ParseCookie(text)
		o.cookies = append(o.cookies, cookies...)
		return err
	})
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return o, err
	case err != nil:
		return o, fmt.Errorf("%w (doctor -help lists the flags)", err)
	case flags.NArg() == 0:
		return o, errors.New("give the address of a page that shows who is online, such as https://forum.example.org/ (doctor -help lists the flags)")
	case flags.NArg() > 1:
		return o, fmt.Errorf("unexpected argument %q: flags stand before the one address", flags.Arg(1))
	case o.hold < shortestHold || o.hold > longestHold:
		return o, fmt.Errorf("-for is %v, and must be from %v to %v", o.hold, shortestHold, longestHold)
	}
	o.page, err = url.Parse(flags.Arg(0))
	if err != nil || o.page.Scheme != "http" && o.page.Scheme != "https" || o.page.Host == "" {
		return o, fmt.Errorf("%.100q is not an address that begins with http:// or https://", flags.Arg(0))
	}
	if o.page.Fragment = ""; o.page.Path == "" {
		o.page.Path = "/"
	}
	return o, nil
}
