package main

import (
	_ "embed"
	"os/exec"
	"path/filepath"

	"github.com/rollcall-go/rollcall/bench/internal/npm"
)

//go:embed socketio.js
var socketIOServer []byte

func missingSocketIO(cfg config) error { return npm.Missing(cfg.NodeModules, "socket.io") }

func socketIO(cfg config, dir string) (*exec.Cmd, error) {
	err := npm.Write(dir, cfg.NodeModules, map[string][]byte{"socketio.js": socketIOServer})
	return exec.Command("node", "--expose-gc", filepath.Join(dir, "socketio.js")), err
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
