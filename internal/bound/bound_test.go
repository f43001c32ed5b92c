//go:build linux

package bound_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/bound"
)

const asParent = "BOUND_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(asParent) != "" {
		parent()
	}
	os.Exit(m.Run())
}

// parent starts a program, says which, and waits to be killed.
func parent() {
	cmd := bound.To(exec.Command("sleep", "600"), syscall.SIGKILL)
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	os.Stdout.WriteString(strconv.Itoa(cmd.Process.Pid) + "\n")
	_ = cmd.Wait()
	panic("the program ended first")
}

// What a process started ends with it, however that ends.
func TestTo(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asParent+"=1")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSuffix(line, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(child, 0); err != nil {
		t.Fatalf("the program does not run: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); !gone(child); time.Sleep(time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatal("the program still runs, and its parent does not")
		}
	}
}

// gone reports whether a process has ended, be it that nobody has asked how.
func gone(pid int) bool {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, os.ErrNotExist) {
		return true
	}
	if err != nil {
		return false
	}
	defer f.Close()
	stat, _ := io.ReadAll(f)
	return len(stat) == 0 || strings.Contains(string(stat), ") Z ")
}
