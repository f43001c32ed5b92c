package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/child"
	"github.com/rollcall-go/rollcall/bench/internal/usage"
	"github.com/rollcall-go/rollcall/internal/bound"
)

// A minute is what a forum, its Redis and the network did while signed-in streams were open and
// nothing happened.
type minute struct {
	Way        string
	Streams    int
	Took       time.Duration
	Requests   int // of pages
	Refused    int
	Commands   int           // of the forum to Redis
	RedisBytes int           // both ways
	Redis      time.Duration // of its processor
	CPU        time.Duration // of the forum
	Resident   int           // of the forum
	Segments   int           // of TCP at the streams' sockets, both ways
	Bytes      int           // in them, without headers
	BeatBytes  int           // of the pages' requests and their answers
	Ended      int           // streams
}

// forumThreads are the threads of the forum that pages show.
const forumThreads = 3

// The ways to a forum. The difference to streams whose pages do not beat is what beats cost.
const (
	direct       = "direct"
	withoutBeats = "direct, without beats"
	throughNGINX = "nginx"
)

// auto is what pages say in their request about beats.
const auto = "&beat=auto"

// minutes measures a forum in each of these ways.
func minutes(ctx context.Context, streams int, rest time.Duration) (all []minute, err error) {
	dir, err := os.MkdirTemp("", "rest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "forum")
	if err := buildForum(ctx, program); err != nil {
		return nil, err
	}
	for _, way := range []string{direct, withoutBeats, throughNGINX} {
		if way == throughNGINX {
			if _, err := exec.LookPath("nginx"); err != nil {
				fmt.Fprintln(os.Stderr, "nginx is left out:", err)
				continue
			}
		}
		fmt.Fprintf(os.Stderr, "%d streams, %s\n", streams, way)
		m, err := oneMinute(ctx, program, streams, rest, way)
		if err != nil {
			return all, err
		}
		all = append(all, m)
	}
	return all, nil
}

func oneMinute(ctx context.Context, program string, streams int, rest time.Duration, way string) (m minute, err error) {
	m = minute{Way: way, Streams: streams}
	bus, err := startBus(ctx)
	if err != nil {
		return m, err
	}
	defer bus.Stop()
	tap, err := newTap(bus)
	if err != nil {
		return m, err
	}
	defer tap.close()
	forum, addr, err := startForum(program, tap.socket)
	if err != nil {
		return m, err
	}
	defer end(forum)
	header := "Cookie: forum_name={user}\r\nSec-Fetch-Site: same-origin\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0\r\n"
	query := auto
	switch way {
	case withoutBeats:
		query = ""
	case throughNGINX:
		var nginx *exec.Cmd
		if nginx, addr, err = startNginx(bus.Dir, addr); err != nil {
			return m, err
		}
		defer end(nginx)
	}
	crowd, err := startCrowd(Crowding{
		Plan: plan{Nodes: 1, Threads: 1}, Addr: addr, Threads: forumThreads,
		SSE:    "/presence/events?{topics}&limit=1&me={user}" + query,
		Header: header,
	})
	if err != nil {
		return m, err
	}
	defer crowd.Kill()
	users := make([]int, streams)
	for n := range users {
		users[n] = n
	}
	if _, err := child.Call[struct{}](crowd, "Rest.Open", Open{users, rest / 4}); err != nil {
		return m, err
	}
	time.Sleep(rest / 4)
	read := func() (u usage.Usage, p Packets, l load, w [2]int, err error) {
		var errs [4]error
		u, errs[0] = child.Call[usage.Usage](crowd, "Rest.Usage", false)
		p, errs[1] = child.Call[Packets](crowd, "Rest.Packets", struct{}{})
		l, errs[2] = bus.load(ctx)
		w[0], w[1], errs[3] = processUse(forum.Process.Pid)
		return u, p, l, w, errors.Join(errs[:]...)
	}
	u1, p1, l1, w1, err := read()
	if err != nil {
		return m, err
	}
	begin, commands, size := time.Now(), tap.commands.Load(), tap.bytes.Load()
	time.Sleep(rest)
	m.Took = time.Since(begin)
	m.Commands, m.RedisBytes = int(tap.commands.Load()-commands), int(tap.bytes.Load()-size)
	u2, p2, l2, w2, err := read()
	if err != nil {
		return m, err
	}
	of := func(name string) int { return int(u2.Stats[name] - u1.Stats[name]) }
	m.Requests, m.Refused, m.BeatBytes = of("requests"), of("refused"), of("bytes in")+of("bytes out")
	m.Segments, m.Bytes, m.Ended = p2.Segments-p1.Segments, p2.Bytes-p1.Bytes, streams-p2.Open
	m.Redis = l2.CPU - l1.CPU
	m.CPU, m.Resident = time.Duration(w2[0]-w1[0]), w2[1]
	return m, nil
}

// buildForum builds the forum's binary, in the module that this one measures.
func buildForum(ctx context.Context, program string) error {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/rollcall-go/rollcall").Output()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, "./examples/forum")
	cmd.Dir = strings.TrimSpace(string(root))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the forum: %w: %s", err, out)
	}
	return nil
}

// startForum starts a node of the forum.
func startForum(program, redis string) (cmd *exec.Cmd, addr string, err error) {
	cmd = bound.To(exec.Command(program, "-addr", "127.0.0.1:0", "-redis", "unix://"+redis, "-node", "n0"), syscall.SIGKILL)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_, addr, ok := strings.Cut(strings.TrimSpace(line), "http://")
	if err != nil || !ok {
		end(cmd)
		return nil, "", fmt.Errorf("the forum did not start: %q, %w", line, err)
	}
	return cmd, addr, nil
}

// nginxConf is an nginx as examples/cluster has it, for as many streams as there are: a stream is two files, and
// a worker often may have 20,000.
const nginxConf = `
user root;
worker_processes 2;
pid nginx.pid;
error_log stderr crit;
daemon off;
events { worker_connections 16000; }
http {
  access_log off;
  client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;
  upstream forum { server %s; keepalive 32; }
  server {
    listen %s backlog=4096 reuseport;
    location / {
      proxy_pass http://forum;
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header Connection '';
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_read_timeout 60s;
    }
  }
}
`

func startNginx(dir, forum string) (cmd *exec.Cmd, addr string, err error) {
	l, err := net.Listen("tcp4", "127.0.0.2:0") // a port that is free
	if err != nil {
		return nil, "", err
	}
	addr = l.Addr().String()
	l.Close()
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), fmt.Appendf(nil, nginxConf, forum, addr), 0o600); err != nil {
		return nil, "", err
	}
	cmd = bound.To(exec.Command("nginx", "-p", dir, "-c", "nginx.conf"), syscall.SIGTERM) // which ends its worker
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	for range 500 {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			return cmd, addr, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	end(cmd)
	return nil, "", errors.New("nginx does not listen")
}

// end ends a process that this one started.
func end(cmd *exec.Cmd) {
	cmd.Process.Signal(syscall.SIGTERM)
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		cmd.Process.Kill()
		<-done
	}
}

// processUse returns the time of processors that a process has used, in nanoseconds and steps of
// 10 ms, and its memory.
func processUse(pid int) (cpu, resident int, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 22 {
		return 0, 0, errors.New("/proc/<pid>/stat is too short")
	}
	number := func(i int) int { n, _ := strconv.Atoi(fields[i]); return n }
	const ticksPerSecond = 100
	return (number(11) + number(12)) * int(time.Second) / ticksPerSecond, number(21) * os.Getpagesize(), nil
}
