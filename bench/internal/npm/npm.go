// Package npm finds the packages of Node.js that bench/package.json names. Install them with
// npm ci in bench.
package npm

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Missing returns an error that names the first package that is not in the directory modules, or
// says that there is no Node.js, or nil.
func Missing(modules string, packages ...string) error {
	for _, p := range packages {
		if _, err := os.Stat(filepath.Join(modules, p)); err != nil {
			return fmt.Errorf("%s is not installed: npm ci in bench, or -node_modules", p)
		}
	}
	_, err := exec.LookPath("node")
	return err
}

// Write writes scripts into dir, where they find the packages in the directory modules.
func Write(dir, modules string, scripts map[string][]byte) error {
	target, err := filepath.Abs(modules)
	if err != nil {
		return err
	}
	if err := os.Symlink(target, filepath.Join(dir, "node_modules")); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
