package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// used is what processes have used, and hold.
type used struct {
	cpu      time.Duration
	resident int           // bytes
	redis    time.Duration // the part of cpu that is Redis'
}

// used adds up both nodes and Redis.
func (s *stage) used() (sum used, err error) {
	for _, node := range []int{1, watched} {
		pid := s.fleet.pid(node)
		if pid == 0 {
			continue // it is the other one
		}
		u, err := processUsed(pid)
		if err != nil {
			return sum, err
		}
		sum.cpu += u.cpu
		sum.resident += u.resident
	}
	if s.bus == nil {
		return sum, nil
	}
	u, err := processUsed(s.bus.main.Process.Pid)
	sum.cpu += u.cpu
	sum.resident += u.resident
	sum.redis = u.cpu
	return sum, err
}

// ticksPerSecond is the unit of /proc/<pid>/stat.
const ticksPerSecond = 100

func processUsed(pid int) (u used, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return u, err
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 22 {
		return u, errors.New("/proc/<pid>/stat is too short")
	}
	number := func(i int) int { n, _ := strconv.Atoi(fields[i]); return n }
	u.cpu = time.Duration(number(11)+number(12)) * time.Second / ticksPerSecond
	u.resident = number(21) * os.Getpagesize()
	return u, nil
}

// note adds a figure to the cell.
func (s *stage) note(name string, value float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.extra[name] = millis(value)
}
