package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync/atomic"
)

// A tap stands between a forum and Redis, and counts the commands and the bytes that pass. The
// forum's binary tells only a part of them.
type tap struct {
	socket   string
	l        net.Listener
	commands atomic.Int64
	bytes    atomic.Int64
}

func newTap(b *bus) (*tap, error) {
	t := &tap{socket: filepath.Join(b.Dir, "tap.sock")}
	var err error
	if t.l, err = net.Listen("unix", t.socket); err != nil {
		return nil, err
	}
	go func() {
		for {
			conn, err := t.l.Accept()
			if err != nil {
				return
			}
			go t.serve(conn, b.Socket)
		}
	}()
	return t, nil
}

func (t *tap) close() { t.l.Close() }

func (t *tap) serve(conn net.Conn, socket string) {
	defer conn.Close()
	redis, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer redis.Close()
	go func() {
		defer conn.Close()
		io.Copy(conn, tapped{redis, &t.bytes})
	}()
	out, in := io.Pipe()
	go t.count(out)
	io.Copy(io.MultiWriter(redis, in), tapped{conn, &t.bytes})
	in.Close()
}

type tapped struct {
	io.Reader
	n *atomic.Int64
}

func (r tapped) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.n.Add(int64(n))
	return n, err
}

// count counts commands: arrays of strings.
func (t *tap) count(from io.Reader) {
	defer io.Copy(io.Discard, from) // never in the way
	b := bufio.NewReader(from)
	for {
		var words, size int
		if _, err := fmt.Fscanf(b, "*%d\r\n", &words); err != nil {
			return
		}
		for range words {
			if _, err := fmt.Fscanf(b, "$%d\r\n", &size); err != nil {
				return
			}
			if _, err := b.Discard(size + 2); err != nil {
				return
			}
		}
		t.commands.Add(1)
	}
}
