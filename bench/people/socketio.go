package main

import (
	_ "embed"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed socketio.js
var socketIOServer []byte

func missingSocketIO(cfg config) error {
	if _, err := os.Stat(filepath.Join(cfg.NodeModules, "socket.io")); err != nil {
		return errors.New("install it: npm install socket.io@4.8.4, and -node_modules")
	}
	_, err := exec.LookPath("node")
	return err
}

func socketIO(cfg config, dir string) (*exec.Cmd, error) {
	script := filepath.Join(dir, "socketio.js")
	if err := os.WriteFile(script, socketIOServer, 0o600); err != nil {
		return nil, err
	}
	module, err := filepath.Abs(filepath.Join(cfg.NodeModules, "socket.io"))
	return exec.Command("node", "--expose-gc", script, module), err
}

func openSocketIO(addr string, _ int, persons []int) (*watcher, error) {
	conn, r, err := dialWebSocket(addr, "/socket.io/?EIO=4&transport=websocket")
	if err == nil {
		err = awaitText(r, `0{"sid"`)
	}
	if err == nil {
		err = say(conn, "40")
	}
	if err == nil {
		err = awaitText(r, `40{"sid"`)
	}
	if err == nil {
		err = say(conn, `42["watch",[`+quoted(persons)+`]]`)
	}
	if err != nil {
		return nil, err
	}
	return &watcher{conn, scanJSON}, nil
}
