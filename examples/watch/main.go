// Watch prints which users come and go on a site with presence, until it is interrupted. It
// connects again after a restart of the site.
//
//	go run ./examples/watch -url http://127.0.0.1:8080/presence -topic site -topic thread:1
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/rollcall-go/rollcall/handlers/client"
	"github.com/rollcall-go/rollcall/presence"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main, with arguments that a test can replace. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	site, topics, options, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "watch:", err)
		return 2
	}
	p := newPrinter(stdout, len(topics) > 1)
	for event, err := range client.Follow(ctx, site, topics, options) {
		if err != nil {
			fmt.Fprintln(stderr, "watch:", clean(err.Error()))
			return 1
		}
		p.print(event)
	}
	return 0
}

// parse reads the command line.
func parse(args []string, stderr io.Writer) (site string, topics []presence.Topic, o client.Options, err error) {
	flags := flag.NewFlagSet("watch", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&site, "url", "http://127.0.0.1:8080/presence", "`URL` of the site's presence endpoints")
	flags.Func("topic", "`topic` to watch; repeat it for more (default site)", func(s string) error {
		topic, err := presence.ParseTopic(s)
		topics = append(topics, topic)
		return err
	})
	o.Header = make(map[string]string)
	flags.Func("header", "`header` to send, such as \"Cookie: …\"; repeat it for more", func(s string) error {
		name, value, ok := strings.Cut(s, ":")
		if !ok {
			return errors.New("want name: value")
		}
		o.Header[name] = strings.TrimSpace(value)
		return nil
	})
	err = flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(stderr)
		flags.PrintDefaults()
	} else if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if topics == nil {
		topics = []presence.Topic{presence.Site}
	}
	return site, topics, o, err
}
