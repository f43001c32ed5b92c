package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// A peer is one server among those compared.
type peer struct {
	name string
	// missing returns why the peer cannot run here, or nil.
	missing func(config) error
	// command returns the process of the server. Nil: this program, with its name as the role.
	command func(cfg config, dir string) (*exec.Cmd, error)
	// open opens a watch.
	open func(addr string, watcher int, persons []int) (*watcher, error)
	// xmpp: persons have connections of their own, and tell the server themselves.
	xmpp bool
}

func nothing(config) error { return nil }

var peers = []peer{
	{name: "rollcall", missing: nothing, open: openRollcall},
	{name: "raw writes", missing: nothing, open: openRaw},
	{name: "centrifuge", missing: nothing, open: openCentrifuge},
	{name: "socket.io", missing: missingSocketIO, command: socketIO, open: openSocketIO},
	{name: "prosody", missing: missingProsody, command: prosody, open: openProsody, xmpp: true},
}

// roleVariable names the server that a child is.
const roleVariable = "ROLLCALL_BENCH_PEOPLE"

// serve is a child. It prints its address, and then obeys lines: "J 1 2" lets persons 1 and
// 2 come, "L 1" lets one go, "gc" collects garbage, and "read" measures People.
func serve(role string, in io.Reader, out io.Writer) error {
	makers := map[string]func() (crowdServer, error){"rollcall": newRollcall, "raw writes": newRaw, "centrifuge": newCentrifuge}
	if makers[role] == nil {
		return errors.New("there is no server " + role)
	}
	s, err := makers[role]()
	if err != nil {
		return err
	}
	fmt.Fprintln(out, s.addr())
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		switch words[0] {
		case "J", "L":
			for _, w := range words[1:] {
				n, err := strconv.Atoi(w)
				if err != nil {
					return err
				}
				if err := s.change(n, words[0] == "J"); err != nil {
					return err
				}
			}
		case "gc":
			collect()
			fmt.Fprintln(out, "collected")
		case "read":
			hundred, thousand := s.read()
			fmt.Fprintln(out, hundred.Nanoseconds(), thousand.Nanoseconds())
		}
	}
	return lines.Err()
}

// A crowdServer is a server of this program.
type crowdServer interface {
	addr() string
	change(person int, comes bool) error
	read() (hundred, thousand time.Duration) // 0: it has no such thing
}

// personID is a person's id, with every server.
func personID(n int) string { return "p" + strconv.Itoa(n) }

// stamp is in each join: when it was.
func stamp() string { return mark + strconv.FormatInt(time.Now().UnixNano(), 10) }

// A process is a server as the parent has it.
type process struct {
	peer
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	address string
	dir     string // of its files
}

func start(cfg config, p peer) (s *process, err error) {
	s = &process{peer: p}
	if s.dir, err = os.MkdirTemp("", "people"); err != nil {
		return nil, err
	}
	if p.command != nil {
		s.cmd, err = p.command(cfg, s.dir)
	} else {
		var self string
		self, err = os.Executable()
		s.cmd = exec.Command(self)
		s.cmd.Env = append(os.Environ(), roleVariable+"="+p.name)
	}
	if err == nil {
		s.cmd.Stderr = os.Stderr
		s.in, err = s.cmd.StdinPipe()
	}
	var out io.Reader
	if err == nil {
		out, err = s.cmd.StdoutPipe()
	}
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		os.RemoveAll(s.dir)
		return nil, err
	}
	s.out = bufio.NewReader(out)
	if p.xmpp {
		s.address = xmppAddr
		return s, awaitPort(s.address)
	}
	line, err := s.out.ReadString('\n')
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("the server did not start: %w", err)
	}
	s.address = strings.TrimSpace(line)
	return s, nil
}

// stop ends the server.
func (s *process) stop() {
	s.in.Close()
	done := make(chan struct{})
	go func() { s.cmd.Wait(); close(done) }()
	patience := 5 * time.Second
	if s.xmpp { // it does not read its input
		patience = 0
		s.cmd.Process.Signal(os.Interrupt)
	}
	select {
	case <-done:
	case <-time.After(patience):
		s.cmd.Process.Kill()
		<-done
	}
	os.RemoveAll(s.dir)
}

// say tells the server a line.
func (s *process) say(line string) error {
	_, err := io.WriteString(s.in, line+"\n")
	return err
}

// ask is say with an answer.
func (s *process) ask(line string) (string, error) {
	if err := s.say(line); err != nil {
		return "", err
	}
	answer, err := s.out.ReadString('\n')
	return strings.TrimSpace(answer), err
}

// read returns how long the server takes to read 100 and 1,000 people.
func (s *process) read() (hundred, thousand time.Duration, err error) {
	if s.command != nil {
		return 0, 0, nil
	}
	answer, err := s.ask("read")
	if err == nil {
		_, err = fmt.Sscan(answer, (*int64)(&hundred), (*int64)(&thousand))
	}
	return hundred, thousand, err
}

// A usage is what a process used.
type usage struct {
	user, system time.Duration
	resident     int // bytes
}

func (u usage) cpu() time.Duration { return u.user + u.system }

func (u usage) since(before usage) usage {
	return usage{u.user - before.user, u.system - before.system, u.resident - before.resident}
}

// ticksPerSecond is the unit of /proc/<pid>/stat.
const ticksPerSecond = 100

// usage returns what the server used until now. With collect it collects garbage before, if
// it can.
func (s *process) usage(collect bool) (u usage, err error) {
	if collect && !s.xmpp {
		if _, err := s.ask("gc"); err != nil {
			return u, err
		}
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return u, err
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 22 {
		return u, errors.New("/proc/<pid>/stat is too short")
	}
	number := func(i int) int { n, _ := strconv.Atoi(fields[i]); return n }
	u.user = time.Duration(number(11)) * time.Second / ticksPerSecond
	u.system = time.Duration(number(12)) * time.Second / ticksPerSecond
	u.resident = number(21) * os.Getpagesize()
	return u, nil
}
