package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const module = "github.com/rollcall-go/rollcall"

// makeBuilds returns the versions to measure: the older one of a checkout, if any, and this one.
// clean removes what was built.
func makeBuilds(ctx context.Context, before string) (all []build, clean func(), err error) {
	dir, err := os.MkdirTemp("", "rest")
	if err != nil {
		return nil, func() {}, err
	}
	clean = func() { os.RemoveAll(dir) }
	self, err := os.Executable()
	if err != nil {
		return nil, clean, err
	}
	here, err := output(exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module))
	if err != nil {
		return nil, clean, err
	}
	if before != "" {
		// The pages of the version before beat once in a heartbeat, and so their connections do.
		b := build{name: "before", beat: 15 * time.Second, query: "&beat=1", program: filepath.Join(dir, "before")}
		if before, err = filepath.Abs(before); err != nil {
			return nil, clean, err
		}
		if err := buildOver(ctx, before, dir, b.program); err != nil {
			return nil, clean, err
		}
		if b.forum, err = buildForum(ctx, before, filepath.Join(dir, "forum-before")); err != nil {
			return nil, clean, err
		}
		all = append(all, b)
	}
	b := build{name: "now", query: "&beat=1&beat=auto", program: self}
	b.forum, err = buildForum(ctx, here, filepath.Join(dir, "forum"))
	return append(all, b), clean, err
}

// buildOver builds this program over another checkout of Rollcall.
func buildOver(ctx context.Context, checkout, dir, program string) error {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		return fmt.Errorf("run this in the folder bench: %w", err)
	}
	sum, err := os.ReadFile("go.sum")
	if err != nil {
		return err
	}
	mod = bytes.Replace(mod, []byte("=> ../"), []byte("=> "+checkout), 1)
	file := filepath.Join(dir, "before.mod")
	if err := os.WriteFile(file, mod, 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "before.sum"), sum, 0o600); err != nil {
		return err
	}
	_, err = output(exec.CommandContext(ctx, "go", "build", "-modfile", file, "-o", program, "./rest"))
	return err
}

func buildForum(ctx context.Context, checkout, program string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, "./examples/forum")
	cmd.Dir = checkout
	_, err := output(cmd)
	return program, err
}

func output(cmd *exec.Cmd) (string, error) {
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%v: %w: %s", cmd.Args, err, &errs)
	}
	return string(bytes.TrimSpace(out)), nil
}
